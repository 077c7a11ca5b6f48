// Rows of configuration checks: a text, what becomes of it, the words an operator looks for, and where in the text they point.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Findings } from '../../engine/config/fault.ts';
import { configSchema } from '../../engine/config/load.ts';
import { readSyntax, writeSyntax } from '../../engine/config/set-format/index.ts';
import { type ReportOptions, validateReport } from '../../engine/config/validate-report.ts';
import { makeValidators } from '../../engine/config/rules/validators.ts';

/** `‸` in a refused text stands where the fault points. */
export interface ConfigRow {
  readonly name: string;
  readonly text: string;
  readonly exit: 0 | 1;
  /** All of them are in what is said; for a valid text, in its warnings. */
  readonly fragments: readonly string[];
  /** A valid text says nothing but that it is. */
  readonly silent: boolean;
}

/** Accepted without a warning. */
export function accepted(name: string, text: string): ConfigRow {
  return { name, text, exit: 0, fragments: [], silent: true };
}

/** Accepted, with a warning that holds the fragments. */
export function warned(name: string, text: string, ...fragments: readonly string[]): ConfigRow {
  return { name, text, exit: 0, fragments, silent: false };
}

export function refused(name: string, text: string, ...fragments: readonly string[]): ConfigRow {
  return { name, text, exit: 1, fragments, silent: false };
}

interface Report {
  readonly valid: boolean;
  readonly errors: readonly { readonly line: number; readonly column: number; readonly message: string }[];
  readonly warnings: readonly { readonly message: string }[];
}

/** A test for each row: the hierarchical text as it stands, and the same written as set lines. */
export function checkRows(section: string, rows: readonly ConfigRow[], options: ReportOptions = {}): void {
  for (const row of rows) {
    const what = row.exit === 0 ? (row.silent ? 'accepted' : 'accepted with a warning') : 'refused';
    test(`${section} ${row.name}: ${what}`, () => {
      checkRow(row, options);
      checkAsSet(row, options);
    });
  }
}

function checkRow(row: ConfigRow, options: ReportOptions): void {
  const at = row.text.indexOf('‸');
  const text = row.text.replace('‸', '');
  const said = validateReport(text, 't.conf', { ...options, json: true });
  const report = JSON.parse(said.stdout) as Report;
  assert.equal(said.exitCode, row.exit, `${text}\n${said.stdout}`);
  const words = row.exit === 0 ? report.warnings : report.errors;
  const all = words.map((one) => one.message).join('\n');
  for (const fragment of row.fragments) assert.ok(all.includes(fragment), `${fragment}\nnot in\n${all || 'nothing'}`);
  if (row.silent) assert.equal(all, '', text);
  if (at < 0) return;
  const lines = text.slice(0, at).split('\n');
  const place = { line: lines.length, column: lines.at(-1)!.length + 1 };
  const [first] = report.errors;
  assert.deepEqual({ line: first?.line, column: first?.column }, place, `${text}\n${said.stdout}`);
}

/** What can be read whole is judged alike in the other format. */
function checkAsSet(row: ConfigRow, options: ReportOptions): void {
  const findings = new Findings();
  const text = row.text.replace('‸', '');
  const tree = readSyntax(text, 't.conf', configSchema().root, makeValidators(options), findings);
  if (findings.failed) return;
  const lines = writeSyntax(tree, 'set');
  const said = validateReport(lines, 't.conf', { ...options, json: true });
  assert.equal(said.exitCode, row.exit, `${lines}\n${said.stdout}`);
  for (const fragment of row.fragments)
    assert.ok(said.stdout.replaceAll('\\"', '"').includes(fragment), `${fragment}\nnot in\n${said.stdout}`);
}
