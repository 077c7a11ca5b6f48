// BIRD 2, asked and steered by birdc.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/zest-process.ts';
import { eachLine } from '../table-text.ts';
import {
  type Afi,
  control,
  FOREIGN_AS,
  FOREIGN,
  FOREIGN_ROUTES,
  type Foreign,
  type ForeignKind,
  type ForeignOptions,
  ForeignProcess,
  type ForeignRoute,
  LOCAL_AS,
  numbers,
  ZEST,
} from './foreign.ts';

export interface BirdOptions extends ForeignOptions {
  /** 10.0.0.2 unless given. */
  readonly routerId?: string;
  /** Announced beside the one of every foreign daemon. */
  readonly more?: readonly string[];
  /** More statements of the session, such as a role. */
  readonly session?: string;
  /** The session waits for `enable zest`. */
  readonly disabled?: boolean;
}

const config = (options: BirdOptions, folder: string): string => `
log "${join(folder, 'log')}" all;
router id ${options.routerId ?? '10.0.0.2'};
protocol device {}
# The sessions are on addresses of the loopback device, which is no link for a next hop: multihop, and the next hops resolve statically.
# Error wait is short: by default BIRD stays away for a minute after a hold timer expired.
protocol static via4 { ipv4; route ${ZEST.ipv4}/32 via "lo"; }
protocol static via6 { ipv6; route ${ZEST.ipv6}/128 via "lo"; }
${(['ipv4', 'ipv6'] as const)
  .map(
    (afi) => `protocol static own_${afi} { disabled yes; ${afi}; route ${FOREIGN_ROUTES[afi]} blackhole {
  bgp_community.add((64999,100)); bgp_large_community.add((4200000002,1,2));
}; }`,
  )
  .join('\n')}
protocol static more { ipv4; ${(options.more ?? []).map((prefix) => `route ${prefix} blackhole;`).join(' ')} }
protocol bgp zest {
  debug { states, events }; ${options.disabled === true ? 'disabled yes;' : ''}
  local ${FOREIGN[options.over]} port ${options.port} as ${FOREIGN_AS};
  neighbor ${ZEST[options.over]} port ${options.zestPort} as ${LOCAL_AS};
  multihop; strict bind yes; hold time ${options.holdTimeSeconds};
  connect delay time 1; connect retry time 2; error wait time 1, 2; ${options.session ?? ''}
  ipv4 { import all; export where proto = "own_ipv4" || proto = "more"; next hop address ${FOREIGN.ipv4}; };
  ipv6 { import all; export where proto = "own_ipv6"; next hop address ${FOREIGN.ipv6}; };
}
`;

export class Bird implements Foreign {
  readonly name = 'BIRD';
  readonly #process: ForeignProcess;

  constructor(options: BirdOptions) {
    this.#process = new ForeignProcess('bird', (folder) => [
      'bird',
      '-f',
      '-c',
      join(folder, 'conf'),
      '-s',
      join(folder, 'ctl'),
      '-P',
      join(folder, 'pid'),
    ]);
    writeFileSync(join(this.#process.folder, 'conf'), config(options, this.#process.folder));
  }

  async begin(): Promise<this> {
    this.#process.start();
    await eventually(`birdc answers ${this.#process.output}`, async () =>
      (await this.birdc('show status')).includes('up') ? true : undefined,
    );
    return this;
  }

  async routes(afi: Afi): Promise<ReadonlyMap<string, ForeignRoute>> {
    const text = await this.birdc(`show route all protocol zest table ${afi === 'ipv4' ? 'master4' : 'master6'}`);
    const routes = new Map<string, ForeignRoute>();
    for (const block of text.split(/\n(?=[0-9a-f.:]+\/\d+)/)) {
      const prefix = /^([0-9a-f.:]+\/\d+)/m.exec(block)?.[1];
      if (prefix === undefined) continue;
      routes.set(prefix, {
        asPath: numbers(/BGP\.as_path: (.*)/.exec(block)?.[1] ?? ''),
        communities: [...(/BGP\.community: (.*)/.exec(block)?.[1] ?? '').matchAll(/\((\d+),(\d+)\)/g)].map(
          (m) => `${m[1]}:${m[2]}`,
        ),
        largeCommunities: [...(/BGP\.large_community: (.*)/.exec(block)?.[1] ?? '').matchAll(/\((\d+), (\d+), (\d+)\)/g)].map(
          (m) => `${m[1]}:${m[2]}:${m[3]}`,
        ),
      });
    }
    return routes;
  }

  async announce(afi: Afi): Promise<void> {
    await this.birdc(`enable own_${afi}`);
  }

  async withdraw(afi: Afi): Promise<void> {
    await this.birdc(`disable own_${afi}`);
  }

  async refresh(): Promise<void> {
    await this.birdc('reload in zest');
  }

  upSince(): Promise<string> {
    return Promise.resolve(String(this.log().match(/zest: State changed to (?!up)\w+/g)?.length ?? 0));
  }

  async established(): Promise<boolean> {
    return (await this.birdc('show protocols zest')).includes('Established');
  }

  /** The same for an answer too long to keep. */
  eachLine(command: string, take: (line: string) => void): Promise<void> {
    return eachLine('birdc', ['-s', join(this.#process.folder, 'ctl'), command], process.env, take);
  }

  /** Everything logged so far, the protocol's states and events among it. */
  log(): string {
    return readFileSync(join(this.#process.folder, 'log'), 'utf8');
  }

  /** Cease NOTIFICATIONs received: what BIRD makes of subcode and text. */
  ceases(): readonly string[] {
    return [...this.log().matchAll(/<RMT> zest: Received: (.*)/g)].map((m) => m[1] ?? '');
  }

  freeze(frozen: boolean): void {
    this.#process.freeze(frozen);
  }

  async restart(): Promise<void> {
    await this.#process.end();
    await this.begin();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  birdc(command: string): Promise<string> {
    return control('birdc', '-s', join(this.#process.folder, 'ctl'), command);
  }
}

export const bird = {
  name: 'BIRD',
  binary: '/usr/sbin/bird',
  start: (options: BirdOptions): Promise<Bird> => new Bird(options).begin(),
} as const satisfies ForeignKind;
