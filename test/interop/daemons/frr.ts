// FRR's bgpd without zebra, asked and steered by vtysh.
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

const BGPD = '/usr/lib/frr/bgpd';

const config = (options: ForeignOptions): string => `
router bgp ${FOREIGN_AS}
 bgp router-id 10.0.0.2
 no bgp ebgp-requires-policy
 no bgp network import-check
 bgp disable-ebgp-connected-route-check
 neighbor ${ZEST[options.over]} remote-as ${LOCAL_AS}
 neighbor ${ZEST[options.over]} port ${options.zestPort}
 neighbor ${ZEST[options.over]} update-source ${FOREIGN[options.over]}
 neighbor ${ZEST[options.over]} ebgp-multihop 8
 neighbor ${ZEST[options.over]} timers ${Math.max(1, Math.floor(options.holdTimeSeconds / 3))} ${options.holdTimeSeconds}
 neighbor ${ZEST[options.over]} timers connect 2
 address-family ipv4 unicast
  neighbor ${ZEST[options.over]} activate
  neighbor ${ZEST[options.over]} route-map OUT out
 exit-address-family
 address-family ipv6 unicast
  neighbor ${ZEST[options.over]} activate
  neighbor ${ZEST[options.over]} route-map OUT out
 exit-address-family
ip prefix-list OWN permit ${FOREIGN_ROUTES.ipv4}
ipv6 prefix-list OWN permit ${FOREIGN_ROUTES.ipv6}
route-map OUT permit 10
 match ip address prefix-list OWN
 set ip next-hop ${FOREIGN.ipv4}
 set community ${FOREIGN_COMMUNITY}
 set large-community ${FOREIGN_LARGE_COMMUNITY}
route-map OUT permit 20
 match ipv6 address prefix-list OWN
 set ipv6 next-hop global ${FOREIGN.ipv6}
 set community ${FOREIGN_COMMUNITY}
 set large-community ${FOREIGN_LARGE_COMMUNITY}
`;

class Frr implements Foreign {
  readonly name = 'FRR';
  readonly #process: ForeignProcess;
  readonly #options: ForeignOptions;
  readonly #vty: string;

  constructor(options: ForeignOptions) {
    this.#options = options;
    this.#process = new ForeignProcess('frr', (folder) => [
      ...([
        BGPD,
        '-f',
        join(folder, 'conf'),
        '-p',
        String(options.port),
        '-l',
        FOREIGN[options.over],
        '-Z',
        '-S',
        '-P',
        '0',
      ] as const),
      ...['-i', join(folder, 'pid'), '--vty_socket', join(folder, 'vty'), '--log', `file:${join(folder, 'log')}`],
    ]);
    this.#vty = join(this.#process.folder, 'vty');
    mkdirSync(this.#vty);
    chmodSync(this.#process.folder, 0o755);
    writeFileSync(join(this.#process.folder, 'conf'), config(options));
  }

  async begin(): Promise<this> {
    this.#process.start();
    await eventually(`vtysh answers ${this.#process.output}`, async () =>
      (await this.#vtysh('show version')).includes('FRR') ? true : undefined,
    );
    return this;
  }

  async routes(afi: Afi): Promise<ReadonlyMap<string, ForeignRoute>> {
    const list = JSON.parse(await this.#vtysh(`show bgp ${afi} unicast json`)) as {
      readonly routes?: Readonly<Record<string, unknown>>;
    };
    const routes = new Map<string, ForeignRoute>();
    for (const prefix of Object.keys(list.routes ?? {}).filter((it) => it !== FOREIGN_ROUTES[afi])) {
      const detail = JSON.parse(await this.#vtysh(`show bgp ${afi} unicast ${prefix} json`)) as {
        readonly paths?: readonly {
          readonly aspath?: { readonly string: string };
          readonly community?: { readonly list: readonly string[] };
          readonly largeCommunity?: { readonly list: readonly string[] };
        }[];
      };
      const path = detail.paths?.[0];
      routes.set(prefix, {
        asPath: numbers(path?.aspath?.string ?? ''),
        communities: path?.community?.list ?? [],
        largeCommunities: path?.largeCommunity?.list ?? [],
      });
    }
    return routes;
  }

  announce(afi: Afi): Promise<void> {
    return this.#network(afi, '');
  }

  withdraw(afi: Afi): Promise<void> {
    return this.#network(afi, 'no ');
  }

  async refresh(): Promise<void> {
    for (const afi of ['ipv4', 'ipv6']) await this.#vtysh(`clear bgp ${afi} unicast ${ZEST[this.#options.over]} soft in`);
  }

  async established(): Promise<boolean> {
    return (await this.#vtysh(`show bgp neighbors ${ZEST[this.#options.over]} json`)).includes('"bgpState":"Established"');
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

  async #network(afi: Afi, no: string): Promise<void> {
    await this.#vtysh(
      ...[
        'configure terminal',
        `router bgp ${FOREIGN_AS}`,
        `address-family ${afi} unicast`,
        `${no}network ${FOREIGN_ROUTES[afi]}`,
      ],
    );
  }

  #vtysh(...lines: readonly string[]): Promise<string> {
    return control('vtysh', '--vty_socket', this.#vty, '-d', 'bgpd', ...lines.flatMap((line) => ['-c', line]));
  }
}

export const frr: ForeignKind = { name: 'FRR', binary: BGPD, start: (options) => new Frr(options).begin() };
