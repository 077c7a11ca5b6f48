// GoBGP, asked and steered by its own command line over gRPC.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, freePort } from '../../support/zest-process.ts';
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
} from './foreign.ts';

const config = (options: ForeignOptions): string => `
[global.config]
  as = ${FOREIGN_AS}
  router-id = "10.0.0.2"
  port = ${options.port}
  local-address-list = ["${FOREIGN[options.over]}"]
[[neighbors]]
  [neighbors.config]
    neighbor-address = "${ZEST[options.over]}"
    peer-as = ${LOCAL_AS}
  [neighbors.transport.config]
    remote-port = ${options.zestPort}
    local-address = "${FOREIGN[options.over]}"
  [neighbors.timers.config]
    hold-time = ${options.holdTimeSeconds}
    keepalive-interval = ${Math.max(1, Math.floor(options.holdTimeSeconds / 3))}
    connect-retry = 2
    idle-hold-time-after-reset = 1
  [neighbors.ebgp-multihop.config]
    enabled = true
    multihop-ttl = 8
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-unicast"
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv6-unicast"
`;

interface GobgpAttribute {
  readonly type: number;
  readonly as_paths?: readonly { readonly asns: readonly number[] }[];
  readonly communities?: readonly number[];
  readonly value?: readonly { readonly ASN: number; readonly LocalData1: number; readonly LocalData2: number }[];
}

export class Gobgp implements Foreign {
  readonly name = 'GoBGP';
  readonly #process: ForeignProcess;
  readonly #options: ForeignOptions;
  readonly #api: number;

  constructor(options: ForeignOptions, api: number) {
    this.#options = options;
    this.#api = api;
    this.#process = new ForeignProcess('gobgp', (folder) => [
      'gobgpd',
      '-f',
      join(folder, 'conf.toml'),
      '--pprof-disable',
      '--api-hosts',
      `127.0.0.1:${api}`,
    ]);
    writeFileSync(join(this.#process.folder, 'conf.toml'), config(options));
  }

  async begin(): Promise<this> {
    this.#process.start();
    await eventually(`gobgp answers ${this.#process.output}`, async () =>
      (await this.#gobgp('global')).includes('AS') ? true : undefined,
    );
    return this;
  }

  async routes(afi: Afi): Promise<ReadonlyMap<string, ForeignRoute>> {
    const text = await this.#gobgp('neighbor', ZEST[this.#options.over], 'adj-in', '-a', afi, '-j');
    const routes = new Map<string, ForeignRoute>();
    const paths = JSON.parse(text === '' ? '[]' : text) as unknown;
    for (const path of (Array.isArray(paths) ? paths : Object.values(paths as object)).flat() as {
      readonly nlri: { readonly prefix: string };
      readonly attrs: readonly GobgpAttribute[];
    }[]) {
      const of = (type: number): GobgpAttribute | undefined => path.attrs.find((attribute) => attribute.type === type);
      routes.set(path.nlri.prefix, {
        asPath: (of(2)?.as_paths ?? []).flatMap((segment) => segment.asns),
        communities: (of(8)?.communities ?? []).map((value) => `${value >>> 16}:${value & 0xffff}`),
        largeCommunities: (of(32)?.value ?? []).map((value) => `${value.ASN}:${value.LocalData1}:${value.LocalData2}`),
      });
    }
    return routes;
  }

  async announce(afi: Afi): Promise<void> {
    await this.#gobgp(
      ...['global', 'rib', 'add', FOREIGN_ROUTES[afi], 'nexthop', FOREIGN[afi], 'community', FOREIGN_COMMUNITY],
      ...['large-community', FOREIGN_LARGE_COMMUNITY, '-a', afi],
    );
  }

  async withdraw(afi: Afi): Promise<void> {
    await this.#gobgp('global', 'rib', 'del', FOREIGN_ROUTES[afi], '-a', afi);
  }

  async upSince(): Promise<string> {
    const [peer] = JSON.parse(await this.#gobgp('neighbor', '-j')) as readonly {
      readonly state?: { readonly flops?: number };
      readonly timers?: { readonly state?: { readonly uptime?: unknown } };
    }[];
    return JSON.stringify([peer?.state?.flops ?? 0, peer?.timers?.state?.uptime]);
  }

  async established(): Promise<boolean> {
    const [peer] = JSON.parse(await this.#gobgp('neighbor', '-j')) as readonly {
      readonly state?: { readonly session_state?: number };
    }[];
    return peer?.state?.session_state === 6;
  }

  /** NOTIFICATIONs received: `code/subcode text`. */
  ceases(): readonly string[] {
    return this.#process.output
      .split('\n')
      .filter((line) => line.includes('"msg":"received notification"'))
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
      .map((entry) => `${String(entry['Code'])}/${String(entry['Subcode'])} ${String(entry['Communicated-Reason'])}`);
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

  #gobgp(...words: readonly string[]): Promise<string> {
    return control('gobgp', '-p', String(this.#api), ...words);
  }
}

export const gobgp = {
  name: 'GoBGP',
  binary: '/usr/bin/gobgpd',
  start: async (options: ForeignOptions): Promise<Gobgp> => new Gobgp(options, await freePort()).begin(),
} as const satisfies ForeignKind;
