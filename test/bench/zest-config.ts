// The daemon's configuration for the load generator: everything accepted, everything announced, best path on. A template: `${PORT}` and its
// kin are filled in by the generator, a line with @A@ and @S@ is repeated for each peer.

export interface ConfigParts {
  /** Statements of `plugin { }`. */
  readonly plugins?: string;
  /** Statements of each peer, in one line: process grants. */
  readonly grants?: string;
  /** The route server, which passes routes on; off where only what comes in counts. */
  readonly forward?: boolean;
  readonly holdTimeSeconds?: number;
}

export function zestConfig({ plugins = '', grants = '', forward = true, holdTimeSeconds = 180 }: ConfigParts = {}): string {
  return `environment { log { level warn; } }
plugin {
${forward ? '    external rs { use bgp-rs; }\n' : ''}${plugins}
}
bgp {
    router-id 10.0.0.1
    session { asn { local \${DUT_AS}; } }
    ${forward ? 'route-server { best-path true; }' : ''}
    group load {
        connection { local { ip 127.0.0.1; port \${PORT}; } remote { connect false; } }
        session { family { ipv4/unicast { prefix { maximum 10000000; } } } }
        timer { receive-hold-time ${holdTimeSeconds}; }
        ${forward ? 'process rs { receive [ update state ]; send [ update ]; }' : ''}
        ${grants}
        peer p@S@ { connection { remote { ip @A@; } } session { asn { remote @S@; } } }
    }
}
`;
}
