// Zest's side of a scenario: its configuration, and what it says of a peer and its routes.
import assert from 'node:assert/strict';
import type { ZestProcess } from '../support/zest-process.ts';
import { type Afi, FOREIGN, FOREIGN_AS, LOCAL_AS, ZEST } from './daemons/foreign.ts';

export interface PeerBlock {
  readonly name?: string;
  readonly over: Afi;
  readonly zestPort: number;
  readonly foreignPort: number;
  /** Address and AS of the neighbour; those of every foreign daemon unless given. */
  readonly remote?: string;
  readonly remoteAs?: number;
  /** Prefixes of a family, 1000 unless given. */
  readonly maximum?: number;
  readonly holdTimeSeconds?: number;
  /** More statements of the peer. */
  readonly more?: string;
}

export function peerBlock(block: PeerBlock): string {
  const prefix = `prefix { maximum ${block.maximum ?? 1000}; }`;
  return `
    peer ${block.name ?? 'foreign'} {
        connection {
            local { ip ${ZEST[block.over]}; port ${block.zestPort}; }
            remote { ip ${block.remote ?? FOREIGN[block.over]}; port ${block.foreignPort}; }
        }
        session {
            asn { remote ${block.remoteAs ?? FOREIGN_AS}; }
            family { ipv4/unicast { ${prefix} } ipv6/unicast { ${prefix} } }
            capability { route-refresh; }
        }
        timer { receive-hold-time ${block.holdTimeSeconds ?? 90}; connect-retry 1; }
        process bgp-rib { receive [ update state ]; send [ update ]; }
        ${block.more ?? ''}
    }`;
}

/** `plugins` stand beside `bgp`, `more` within it. */
export function zestConfig(
  peers: readonly string[],
  { routerId = '10.0.0.1', plugins = '', more = '' }: { routerId?: string; plugins?: string; more?: string } = {},
): string {
  return `
environment { log { level info; } }
${plugins}
bgp {
    router-id ${routerId};
    session { asn { local ${LOCAL_AS}; } }
    ${more}
${peers.join('\n')}
}
`;
}

/** What `peer NAME detail` says of the one peer of that name. */
export async function peer(zest: ZestProcess, name = 'foreign'): Promise<Readonly<Record<string, unknown>>> {
  const { peers } = (await zest.json('peer', name, 'detail')) as {
    peers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const [only] = Object.values(peers);
  assert.ok(only, 'one peer');
  return only;
}

export interface RibRoute {
  readonly prefix: string;
  readonly 'next-hop': string;
  readonly origin: string;
  readonly 'as-path': readonly number[];
  readonly med?: number;
  readonly community?: readonly string[];
  readonly 'large-community'?: readonly string[];
}

/** Routes received from every peer, by prefix. */
export async function received(zest: ZestProcess): Promise<ReadonlyMap<string, RibRoute>> {
  const answer = (await zest.json('rib', 'routes', 'received')) as {
    'adj-rib-in'?: Readonly<Record<string, readonly RibRoute[]>>;
  };
  return new Map(
    Object.values(answer['adj-rib-in'] ?? {})
      .flat()
      .map((route) => [route.prefix, route]),
  );
}
