// OpenBGPD, asked and steered by bgpctl.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/zest-process.ts';
import {
  type Afi,
  control,
  FOREIGN_AS,
  FOREIGN_COMMUNITY,
  FOREIGN_LARGE_COMMUNITY,
  FOREIGN,
  FOREIGN_ROUTES,
  type Foreign,
  type ForeignKind,
  type ForeignOptions,
  ForeignProcess,
  type ForeignRoute,
  LOCAL_AS,
  ZEST,
  numbers,
} from './foreign.ts';

const config = (options: ForeignOptions, folder: string): string => `
AS ${FOREIGN_AS}
router-id 10.0.0.2
listen on ${FOREIGN[options.over]} port ${options.port}
socket "${join(folder, 'ctl')}"
fib-update no
neighbor ${ZEST[options.over]} {
	remote-as ${LOCAL_AS}
	local-address ${FOREIGN[options.over]}
	port ${options.zestPort}
	multihop 8
	holdtime ${options.holdTimeSeconds}
	announce IPv4 unicast
	announce IPv6 unicast
}
allow from any
allow to any

`;

interface OpenbgpdRoute {
  readonly prefix: string;
  readonly aspath?: string;
  readonly communities?: readonly string[];
  readonly large_communities?: readonly string[];
}

class Openbgpd implements Foreign {
  readonly name = 'OpenBGPD';
  readonly #process: ForeignProcess;
  readonly #options: ForeignOptions;

  constructor(options: ForeignOptions) {
    this.#options = options;
    this.#process = new ForeignProcess('openbgpd', (folder) => ['bgpd', '-d', '-f', join(folder, 'conf')]);
    chmodSync(this.#process.folder, 0o755);
    const path = join(this.#process.folder, 'conf');
    writeFileSync(path, config(options, this.#process.folder));
    chmodSync(path, 0o600);
    mkdirSync('/run/openbgpd', { recursive: true });
  }

  async begin(): Promise<this> {
    this.#process.start();
    await eventually(`bgpctl answers ${this.#process.output}`, async () =>
      (await this.#bgpctl('show')).includes('Neighbor') ? true : undefined,
    );
    return this;
  }

  async routes(afi: Afi): Promise<ReadonlyMap<string, ForeignRoute>> {
    const text = await this.#bgpctl(
      '-j',
      'show',
      'rib',
      afi === 'ipv4' ? 'inet' : 'inet6',
      'in',
      'detail',
      'neighbor',
      ZEST[this.#options.over],
    );
    const { rib } = JSON.parse(text) as { readonly rib?: readonly OpenbgpdRoute[] };
    return new Map(
      (rib ?? []).map((route) => [
        route.prefix,
        {
          asPath: numbers(route.aspath ?? ''),
          communities: route.communities ?? [],
          largeCommunities: route.large_communities ?? [],
        },
      ]),
    );
  }

  async announce(afi: Afi): Promise<void> {
    await this.#bgpctl(
      'network',
      'add',
      FOREIGN_ROUTES[afi],
      'community',
      FOREIGN_COMMUNITY,
      'large-community',
      FOREIGN_LARGE_COMMUNITY,
    );
  }

  async withdraw(afi: Afi): Promise<void> {
    await this.#bgpctl('network', 'delete', FOREIGN_ROUTES[afi]);
  }

  /** OpenBGPD 7.7 answers nobody, BIRD neither: it logs "route refresh: AID IPv4 unicast not negotiated" though it is. */
  async refreshesHeard(): Promise<number> {
    const text = await this.#bgpctl('show', 'neighbor', ZEST[this.#options.over]);
    return Number(/Route Refresh\s+\d+\s+(\d+)/.exec(text)?.[1] ?? 0);
  }

  async refresh(): Promise<void> {
    await this.#bgpctl('neighbor', ZEST[this.#options.over], 'refresh');
  }

  async established(): Promise<boolean> {
    return /BGP state = Established/.test(await this.#bgpctl('show', 'neighbor', ZEST[this.#options.over]));
  }

  /** It idles 30 s and more after repeated errors, and the configuration cannot say otherwise. */
  async hurry(): Promise<void> {
    await this.#bgpctl('neighbor', ZEST[this.#options.over], 'up');
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

  #bgpctl(...words: readonly string[]): Promise<string> {
    const json = words[0] === '-j';
    return control(
      'bgpctl',
      ...(json ? ['-j'] : []),
      '-s',
      join(this.#process.folder, 'ctl'),
      ...(json ? words.slice(1) : words),
    );
  }
}

export const openbgpd: ForeignKind = {
  name: 'OpenBGPD',
  binary: '/usr/sbin/bgpd',
  start: (options) => new Openbgpd(options).begin(),
};
