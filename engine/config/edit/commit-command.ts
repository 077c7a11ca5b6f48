// `commit` and what may stand behind it: `check`, `comment TEXT`, `confirmed N`.
import { clamp, type ConfigFault, type ConfigWarning } from '../fault.ts';
import { faultText } from '../validate-report.ts';
import type { Word } from './line.ts';
import { type CandidateSession, done, failed, type Outcome } from './session.ts';
import { usageOf } from './verbs.ts';

interface Wish {
  check: boolean;
  comment: string;
  confirmSeconds: number | undefined;
}

const MAXIMUM_CONFIRM_SECONDS = 3600;

export async function commitCommand(session: CandidateSession, words: readonly Word[], signal?: AbortSignal): Promise<Outcome> {
  const wish = readWish(words);
  if ('ok' in wish) return wish;
  const { target } = session;
  if (wish.check) {
    const result = await target.check(session.text(), signal);
    if (!result.ok) return invalid(result.faults);
    const told = [...warnings(result.warnings), ...result.impact];
    if (result.refused !== '') return failed(['the candidate would be refused:', ...told].join('\n  '));
    return done([...told, 'the candidate is valid'].map((line) => `${line}\n`).join(''));
  }
  if (!session.changed) {
    const pending = await target.pending(signal);
    if (pending !== undefined) {
      const confirmed = await target.confirm(signal);
      return confirmed.ok ? done('confirmed\n') : failed(confirmed.message);
    }
    return done('nothing has changed\n');
  }
  const result = await target.commit(
    session.text(),
    { base: session.version, comment: wish.comment, author: session.author, confirmSeconds: wish.confirmSeconds },
    signal,
  );
  if (result.ok) {
    session.committed(result.version);
    return done([...warnings(result.warnings), ...result.notes].map((line) => `${line}\n`).join(''));
  }
  switch (result.reason) {
    case 'changed':
      return failed(
        `not committed: ${result.message}\n` +
          '  rebase    puts your changes on top of it (then compare, then commit)\n' +
          '  discard   drops your changes and takes it as it is',
      );
    case 'invalid':
      return invalid(result.faults);
    case 'pending':
      return failed(`not committed: ${result.message}`, 0, 'confirm or abort it first');
    case 'refused':
    case 'unsupported':
      return failed(`not committed: ${[result.message, ...result.faults.map(faultText)].join('\n  ')}`);
  }
}

function readWish(words: readonly Word[]): Wish | Outcome {
  const wish: Wish = { check: false, comment: '', confirmSeconds: undefined };
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word.text === 'check') wish.check = true;
    else if (word.text === 'comment') {
      const text = words.slice(at + 1).map((one) => one.text);
      const [first] = text;
      if (first === undefined) return failed('comment needs a text', word.end);
      if (words[at + 1]!.quoted) {
        wish.comment = first;
        at++;
      } else {
        wish.comment = text.join(' ');
        break;
      }
    } else if (word.text === 'confirmed') {
      const seconds = words[at + 1];
      const number = Number(seconds?.text);
      if (seconds === undefined || !/^\d{1,5}$/.test(seconds.text) || number < 1 || number > MAXIMUM_CONFIRM_SECONDS)
        return failed(`confirmed takes 1..${MAXIMUM_CONFIRM_SECONDS} seconds`, seconds?.column ?? word.end);
      wish.confirmSeconds = number;
      at++;
    } else return failed(`commit does not take "${clamp(word.text)}": ${usageOf('commit')}`, word.column);
  }
  return wish;
}

function invalid(faults: readonly ConfigFault[]): Outcome {
  return failed(['the candidate is invalid:', ...faults.map(lineOf)].join('\n  '));
}

/** Lines of the text that would be written mean nothing to who typed commands: the path says where. */
function lineOf(fault: ConfigFault): string {
  const { path, message, hint } = fault;
  const where = path === '' || message.includes(path) ? '' : `${path.replaceAll('/', ' ')}: `;
  return `${where}${message}${hint === undefined ? '' : ` (${hint})`}`;
}

function warnings(found: readonly ConfigWarning[]): string[] {
  return found.map(({ message }) => `warning: ${message}`);
}
