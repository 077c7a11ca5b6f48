// What a running plugin is asked, and what its answers must keep to: one rule a callback, and some about the lines themselves.
import { decodeOutput, messageOf, parseAnswerTail } from '../../../sdk/rpc/index.ts';
import { events, testPeer } from '../../../sdk/testing/events.ts';
import { updateBody, updateParts } from '../../../sdk/testing/update-body.ts';
import { undeclaredChange } from '../../codec/filter-delta.ts';
import { parseFilterText } from '../../codec/filter-text.ts';
import type { DeclareRegistrationInput, FilterDecl, Method, Methods } from '../../../yang/generated/methods.ts';
import type { AnswerLine, CheckLink } from './link.ts';
import type { Verdicts } from './verdicts.ts';

/** Waits. A callback has this long; a command as long as the daemon gives it. */
export const ANSWER_MS = 5000;
const COMMAND_MS = 30_000;
const UPDATE_TEXT = 'origin igp as-path 65001 next-hop 192.0.2.1 nlri ipv4/unicast add 198.51.100.0/24';

type Registration = DeclareRegistrationInput;

export async function checkRunning(link: CheckLink, declared: Registration, verdicts: Verdicts): Promise<void> {
  const rules = new Rules(link, verdicts);
  await rules.lines();
  await rules.events();
  for (const command of declared.commands ?? []) await rules.command(command.name, command.shape);
  if ((declared.commands ?? []).length === 0)
    verdicts.notAsked('command.answer', 'a command is answered by records', 'it declares no command');
  await rules.codecs(declared);
  await rules.config(declared);
  await rules.opens(declared);
  await rules.filters(declared);
  await rules.doctor(declared);
  await rules.enrichers(declared);
}

class Rules {
  readonly #link: CheckLink;
  readonly #verdicts: Verdicts;

  constructor(link: CheckLink, verdicts: Verdicts) {
    this.#link = link;
    this.#verdicts = verdicts;
  }

  async lines(): Promise<void> {
    const link = this.#link;
    await this.#rule('post-startup', 'post-startup is answered ok', async () =>
      okOnly(await link.ask('post-startup', undefined, ANSWER_MS)),
    );
    await this.#rule('unknown-method', 'a method it does not know is answered by an error that says so', async () => {
      const [line] = await link.ask('no-such-callback', {}, ANSWER_MS);
      const text = errorText(line);
      return text === undefined
        ? `it answered ${shown(line)}`
        : /unknown method/.test(text)
          ? undefined
          : `the error says "${text}", not "unknown method: …"`;
    });
    await this.#rule('two-at-once', 'two requests under way are answered by their ids', async () => {
      const first = link.send('deliver-batch', '{"events":[]}');
      const second = link.send('deliver-batch', '{"events":[]}');
      return okOnly(await link.answer(second, ANSWER_MS)) ?? okOnly(await link.answer(first, ANSWER_MS));
    });
    await this.#rule('split-line', 'a line that comes in pieces is one line', async () => {
      const id = link.sendParts(['ze-plugin-callback:deliver', '-batch {"ev', 'ents":[]}', '\n']);
      return okOnly(await link.answer(id, ANSWER_MS));
    });
    await this.#rule('unknown-keys', 'keys it does not know do no harm', async () =>
      okOnly(await link.ask('deliver-batch', { events: [], 'x-newer': { deep: [null] } }, ANSWER_MS)),
    );
    await this.#rule('null-params', 'null as params is no params', async () =>
      okOnly(await link.answer(link.send('post-startup', 'null'), ANSWER_MS)),
    );
    await this.#rule('bad-params', 'params that cannot be read are answered by an error, and it goes on', async () => {
      const [line] = await link.answer(link.send('deliver-batch', '{"events":'), ANSWER_MS);
      const text = errorText(line);
      if (text === undefined) return `it answered ${shown(line)}`;
      return okOnly(await link.ask('deliver-batch', { events: [] }, ANSWER_MS));
    });
  }

  async events(): Promise<void> {
    const link = this.#link;
    const texts = sampleEvents();
    const first = texts[0] ?? '';
    await this.#rule('events.batch', 'a batch of events is acknowledged', async () =>
      okOnly(await link.ask('deliver-batch', { events: texts }, ANSWER_MS)),
    );
    await this.#rule('events.single', 'a single event is acknowledged', async () =>
      okOnly(await link.ask('deliver-event', { event: first }, ANSWER_MS)),
    );
    await this.#rule('events.newer', 'an event of a type it does not know does no harm', async () =>
      okOnly(
        await link.ask(
          'deliver-batch',
          { events: ['{"type":"bgp","bgp":{"message":{"type":"x-newer"},"x-newer":{"a":1}}}', '{"type":"x-newer"}'] },
          ANSWER_MS,
        ),
      ),
    );
    await this.#rule('events.large', 'a batch of 1 MiB is acknowledged', async () => {
      const event = events.state('check', 'down', { reason: 'ü'.repeat(500) });
      return okOnly(await link.ask('deliver-batch', { events: Array.from({ length: 1000 }, () => event) }, ANSWER_MS));
    });
  }

  async command(name: string, shape: string | undefined): Promise<void> {
    const link = this.#link;
    await this.#rule(`command.${name}`, `"${name}" is answered by records, an error included`, async () =>
      answerFault(await link.ask('execute-command', { serial: '', command: name, peer: '*' }, COMMAND_MS), shape),
    );
    await this.#rule(`command.${name}.args`, `"${name}" with words it does not expect still answers`, async () =>
      answerFault(
        await link.ask(
          'execute-command',
          { command: name, args: ['no-such-word', 'ü <&> "', ''], peer: '192.0.2.99' },
          COMMAND_MS,
        ),
        undefined,
      ),
    );
  }

  async codecs({ families = [] }: Registration): Promise<void> {
    if (families.length === 0)
      this.#verdicts.notAsked('codec.decode-nlri', 'NLRI is decoded, or refused', 'it declares no family');
    for (const { name, mode } of families) {
      if (mode !== 'encode') {
        await this.#value(
          `codec.decode-nlri.${name}`,
          `NLRI of ${name} is decoded, or refused`,
          'decode-nlri',
          { family: name, hex: '' },
          true,
        );
        await this.#value(
          `codec.decode-nlri.${name}.odd`,
          `NLRI of ${name} that cannot be is refused, not fatal`,
          'decode-nlri',
          { family: name, hex: 'ffffffff' },
          true,
        );
      }
      if (mode !== 'decode') {
        await this.#value(
          `codec.encode-nlri.${name}`,
          `NLRI of ${name} is encoded, or refused`,
          'encode-nlri',
          { family: name, args: ['no-such-word'] },
          true,
        );
      }
    }
  }

  async config({ 'wants-config': roots = [], 'config-operations': operations = [] }: Registration): Promise<void> {
    const root = roots[0] === '*' ? 'bgp' : (roots[0] ?? 'bgp').split('/')[0];
    await this.#value('config.verify', 'config-verify is answered with a status', 'config-verify', { sections: [] }, false);
    await this.#value(
      'config.apply',
      'config-apply of nothing is answered with a status',
      'config-apply',
      { sections: [] },
      false,
    );
    await this.#rule('config.rollback', 'config-rollback is answered ok', async () =>
      okOnly(await this.#link.ask('config-rollback', { 'transaction-id': 'tx-1' }, ANSWER_MS)),
    );
    await this.#rule('config.committed', 'config-committed is answered ok', async () =>
      okOnly(await this.#link.ask('config-committed', { 'transaction-id': 'tx-1' }, ANSWER_MS)),
    );
    const decomposed = operations.find((operation) => operation.decompose === true);
    if (decomposed === undefined) {
      this.#verdicts.notAsked(
        'config.decompose',
        'a change is taken apart into operations',
        `it declares no root to decompose (${root})`,
      );
      return;
    }
    const section = { root: decomposed.root, data: '{}' };
    const input = {
      'transaction-id': 'tx-1',
      root: decomposed.root,
      active: section,
      candidate: section,
      diff: { root: decomposed.root },
    };
    await this.#value('config.decompose', 'a change is taken apart into operations', 'config-operation-decompose', input, false);
  }

  async opens({ 'wants-validate-open': wants = false }: Registration): Promise<void> {
    const says = 'an OPEN is accepted or refused';
    if (!wants) {
      this.#verdicts.notAsked('validate-open', says, 'it does not ask for OPENs');
      return;
    }
    const open = { asn: 65001, 'router-id': '192.0.2.1', 'hold-time': 90, capabilities: [{ code: 65, hex: '0000fde9' }] };
    await this.#value('validate-open', says, 'validate-open', { peer: 'check', local: open, remote: open }, false);
  }

  async filters({ filters = [] }: Registration): Promise<void> {
    if (filters.length === 0)
      this.#verdicts.notAsked('filter', 'a route is accepted, rejected or modified', 'it declares no filter');
    for (const filter of filters) {
      const { name, direction, raw } = filter;
      const input = {
        filter: name,
        direction: direction === 'export' ? 'export' : 'import',
        peer: '192.0.2.1',
        'peer-as': 65001,
        update: UPDATE_TEXT,
        ...(raw === true ? { raw: 'AAAAGUABAQBAAgYCAQAA/elAAwTAAAIBGMYzZA==' } : {}),
      };
      await this.#rule(`filter.${name}`, `filter "${name}" accepts, rejects or modifies`, async () => {
        const { fault, value } = outputOf(
          await this.#link.ask('filter-update', input, ANSWER_MS),
          'ze-plugin-callback:filter-update',
        );
        if (fault !== undefined) return fault;
        const action = value?.action;
        if (action !== 'accept' && action !== 'reject' && action !== 'modify') return `its action is ${JSON.stringify(action)}`;
        return action === 'modify' ? deltaFault(value?.update ?? '', filter) : undefined;
      });
    }
  }

  async doctor({ 'doctor-checks': checks = [] }: Registration): Promise<void> {
    if (checks.length === 0) this.#verdicts.notAsked('doctor-check', 'a doctor check gives diagnostics', 'it declares none');
    for (const { name, codes } of checks) {
      await this.#rule(`doctor-check.${name}`, `doctor check "${name}" gives diagnostics of its declared codes`, async () => {
        const { fault, value } = outputOf(
          await this.#link.ask('doctor-check', { name }, ANSWER_MS),
          'ze-plugin-callback:doctor-check',
        );
        if (fault !== undefined) return fault;
        const odd = value?.diagnostics.find((one) => !codes.includes(one.code) || !['error', 'warning'].includes(one.severity));
        return odd === undefined ? undefined : `${JSON.stringify(odd)} has a code it did not declare, or no severity`;
      });
    }
  }

  async enrichers({ enrichers = [] }: Registration): Promise<void> {
    if (enrichers.length === 0) this.#verdicts.notAsked('enrich-show', 'an enricher adds an object', 'it declares none');
    for (const { command, key } of enrichers) {
      const input = { command, key, mode: 'detail', base: {} };
      await this.#value(`enrich-show.${key}`, `enricher "${key}" adds an object, or nothing`, 'enrich-show', input, false);
    }
  }

  /** A callback answered by one value of the protocol's form. `refusing`: an error line is an answer as well. */
  #value(rule: string, says: string, callback: string, input: object, refusing: boolean): Promise<void> {
    return this.#rule(rule, says, async () => {
      const lines = await this.#link.ask(callback, input, ANSWER_MS);
      if (refusing && errorText(lines[0]) !== undefined) return undefined;
      return outputOf(lines, `ze-plugin-callback:${callback}` as Method).fault;
    });
  }

  async #rule(rule: string, says: string, trial: () => Promise<string | undefined>): Promise<void> {
    if (!this.#link.open) {
      this.#verdicts.notAsked(rule, says, 'its connection is gone');
      return;
    }
    let fault: string | undefined;
    try {
      fault = await trial();
    } catch (error) {
      fault = messageOf(error);
    }
    this.#verdicts.judge(rule, says, fault);
  }
}

/** One event of each kind that every subscriber may see, with an update in the formats a subscriber may choose. */
function sampleEvents(): readonly string[] {
  const peer = testPeer({ name: 'check', address: '192.0.2.1' });
  const context = { asn4: true, addPath: [] };
  const body = updateBody({ announce: { 'ipv4/unicast': ['198.51.100.0/24'] } }, peer, context);
  const hex = Buffer.from(body).toString('hex');
  return [
    events.state(peer, 'up'),
    events.negotiated(peer),
    ...(['parsed', 'full', 'raw', 'summary'] as const).map((format) =>
      events.update(peer, updateParts(body, context), hex, format),
    ),
    events.endOfRib(peer),
    events.state(peer, 'down', { reason: 'check <&> "ü"\n' }),
  ];
}

/** What the daemon would not take of a modification: then it rejects the route. */
function deltaFault(text: string, { attributes = [], nlri = true }: FilterDecl): string | undefined {
  const delta = parseFilterText(text);
  const undeclared = undeclaredChange(delta, { attributes, nlri });
  if (undeclared !== undefined) return `it changes ${undeclared}, which it did not declare`;
  return delta.faults.length === 0 ? undefined : `its text cannot be read: ${delta.faults.join('; ')}`;
}

function okOnly(lines: readonly AnswerLine[]): string | undefined {
  const [line] = lines;
  return lines.length === 1 && line?.word === 'ok' ? undefined : `it answered ${shown(line)}`;
}

function shown(line: AnswerLine | undefined): string {
  return line === undefined ? 'nothing' : `${line.word} ${line.payload.toString('utf8').slice(0, 120)}`.trim();
}

/** The message of an error line; undefined when the line is none. */
function errorText(line: AnswerLine | undefined): string | undefined {
  if (line?.word !== 'error') return undefined;
  const text = line.payload.toString('utf8');
  try {
    return (JSON.parse(text) as { readonly message?: string }).message ?? text;
  } catch {
    return text;
  }
}

function outputOf<M extends Method>(
  lines: readonly AnswerLine[],
  method: M,
): { readonly fault?: string; readonly value?: Methods[M]['output'] } {
  const [line] = lines;
  if (lines.length !== 1 || line?.word !== 'ok') return { fault: `it answered ${shown(line)}` };
  try {
    const json: unknown = line.payload.length === 0 ? {} : JSON.parse(line.payload.toString('utf8'));
    const value = decodeOutput(method, json);
    const status = (json as { readonly status?: unknown } | null)?.status;
    if (method.startsWith('ze-plugin-callback:config-') && status !== 'ok' && status !== 'error') {
      return { fault: `its status is ${JSON.stringify(status)}, not "ok" or "error"` };
    }
    return { value };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

/** Head, records, terminator: their forms, their counts, the widths of rows. An error line is a whole answer too. */
function answerFault(lines: readonly AnswerLine[], shape: string | undefined): string | undefined {
  const [first] = lines;
  if (lines.length === 1 && (first?.word === 'error' || first?.word === 'nay')) return undefined;
  if (first?.word !== 'top') return `its answer begins with ${shown(first)}, not with a head`;
  let columns: readonly string[] = [];
  let rows = 0;
  let bad = 0;
  let document = false;
  for (const { word, payload } of lines) {
    if (word === 'ok' || word === 'error') return `a record answer holds an ${word} line`;
    const line = parseAnswerTail(word, payload);
    if (line === undefined) return `it cannot be read: ${word} ${payload.toString('utf8').slice(0, 80)}`;
    if (line.kind === 'top') {
      ({ columns } = line.head);
      document = line.head.itemType === 'doc';
      if (shape === 'doc' && !document) return `it declared the shape doc and its head says ${line.head.itemType}`;
    } else if (line.kind === 'row' || line.kind === 'bad') {
      if (line.kind === 'row') rows++;
      else bad++;
      const fault = recordFault(line.json, line.kind === 'row' ? columns : []);
      if (fault !== undefined) return fault;
    } else if (line.kind === 'end') {
      if (!document && (line.produced !== rows || line.rejected !== bad)) {
        return `its terminator counts ${line.produced} and ${line.rejected}, and there were ${rows} rows and ${bad} rejected`;
      }
      if (document && rows + bad > 1) return `a document is one row, and there were ${rows + bad}`;
    }
  }
  return undefined;
}

function recordFault(json: string, columns: readonly string[]): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return `a record is no JSON: ${json.slice(0, 80)}`;
  }
  if (columns.length === 0) return undefined;
  if (!Array.isArray(value) || value.length !== columns.length)
    return `a row has not one value for each of ${columns.length} columns: ${json.slice(0, 80)}`;
  return undefined;
}
