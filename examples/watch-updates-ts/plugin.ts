/**
 * watch-updates: an external plugin that counts what passes and answers commands. It runs as a process of its own; the engine
 * starts it and it connects back over TLS:
 *
 *     plugin { external watch { run "node --import tsx ./examples/watch-updates-ts/plugin.ts" } }
 *
 * `examples/watch-updates-py` is the same plugin in Python.
 */
import { type ExecuteCommandInput, Plugin, type Registration, runOrDeclare } from 'zest-bgp/sdk';

/** What this plugin provides: a pure value, also written to stdout when the engine only asks (ZE_PLUGIN_MODE=declare). */
const declaration: Registration = {
  commands: [
    { name: 'watch status', 'short-help': 'What was seen so far', shape: 'doc' },
    { name: 'watch rows', 'short-help': 'Answer with N rows', args: ['count'], shape: 'map', columns: ['n', 'text'] },
    { name: 'watch announce', 'short-help': 'Announce a prefix to every peer', args: ['prefix'], shape: 'doc' },
    { name: 'watch withdraw', 'short-help': 'Withdraw a prefix from every peer', args: ['prefix'], shape: 'doc' },
  ],
  'failure-policy': 'restart',
};

/** The parts of an event this plugin reads. */
interface BgpEvent {
  readonly bgp?: {
    readonly message?: { readonly type?: string };
    readonly peer?: { readonly name?: string; readonly address?: string; readonly remote?: { readonly address?: string } };
    readonly state?: string;
    readonly update?: {
      readonly nlri?: Readonly<Record<string, readonly { readonly action: string; readonly nlri: readonly unknown[] }[]>>;
    };
  };
}

const PREFIX = /^[0-9a-fA-F.:]+\/\d{1,3}$/;

async function start(): Promise<number> {
  const plugin = Plugin.fromEnv('watch');
  const counts = { events: 0, updates: 0, announced: 0, withdrawn: 0, up: 0, down: 0 };
  const peers = new Set<string>();

  // Together with stage 5, so that no event of the first session is missed.
  plugin.setStartupSubscriptions(['update', 'state'], ['*']);

  plugin.onEvent((text) => {
    const { bgp } = JSON.parse(text) as BgpEvent;
    counts.events++;
    const type = bgp?.message?.type;
    if (type === 'state') {
      const name = bgp?.peer?.name ?? bgp?.peer?.remote?.address ?? '';
      if (bgp?.state === 'up') {
        counts.up++;
        peers.add(name);
      } else {
        counts.down++;
        peers.delete(name);
      }
    } else if (type === 'update') {
      counts.updates++;
      for (const operations of Object.values(bgp?.update?.nlri ?? {})) {
        for (const { action, nlri } of operations) counts[action === 'add' ? 'announced' : 'withdrawn'] += nlri.length;
      }
    }
  });

  plugin.onExecuteCommand((input, signal) => {
    switch (input.command) {
      case 'watch status':
        return { ...counts, established: [...peers].sort() };
      case 'watch rows':
        return rows(argument(input, 'count', /^\d{1,9}$/), signal);
      case 'watch announce':
        return change('update text next-hop self', 'add', argument(input, 'prefix', PREFIX), signal);
      case 'watch withdraw':
        return change('update text', 'del', argument(input, 'prefix', PREFIX), signal);
      default:
        throw new Error(`no such command: ${input.command}`);
    }
  });

  /** Calls the engine while it waits for our answer: commands run beside everything else, so neither blocks the other. */
  async function change(start: string, verb: 'add' | 'del', prefix: string, signal: AbortSignal): Promise<object> {
    const family = prefix.includes(':') ? 'ipv6/unicast' : 'ipv4/unicast';
    const counts = await plugin.updateRoute('*', `${start} nlri ${family} ${verb} ${prefix}`, signal);
    return {
      announced: counts.announced,
      withdrawn: counts.withdrawn,
      'peers-affected': counts.peersAffected,
      'routes-sent': counts.routesSent,
    };
  }

  await plugin.run(declaration);
  return 0;
}

/** Streams: the engine reads each row as it is written, and stops the generator when its reader goes away. */
function* rows(count: string, signal: AbortSignal): Generator<{ n: number; text: string }> {
  for (let n = 1; n <= Number(count) && !signal.aborted; n++) yield { n, text: `row ${n}: grüße, 世界 🛰` };
}

/** The command's one argument. What an operator types ends up in a route command: it is checked first. */
function argument(input: ExecuteCommandInput, name: string, form: RegExp): string {
  const [value = '', ...rest] = input.args ?? [];
  if (rest.length > 0 || !form.test(value)) throw new Error(`${input.command} needs one argument: ${name}`);
  return value;
}

process.exit(await runOrDeclare(declaration, start));
