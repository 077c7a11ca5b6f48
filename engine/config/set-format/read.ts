// A set text to the same tree that a hierarchical text makes. Lines are applied in their order, as in an editor.
import type { ContainerNode } from '../../../yang/compile/schema.ts';
import { didYouMean } from '../text/values.ts';
import { clamp, type Findings } from '../fault.ts';
import { describe, type Token } from '../text/lexer.ts';
import { type Head, Parser } from '../text/parser.ts';
import { append, type SyntaxTree } from '../text/syntax-tree.ts';
import { wholeText } from '../text/whole-text.ts';
import type { Validators } from '../rules/validators.ts';
import { type Applied, Applier } from './apply.ts';
import { SET_VERBS, withoutMetadata } from './format.ts';
import { PathReader, type Plan } from './path.ts';

/** Reads a whole set text. Always answers a tree; what is wrong is in `findings`. Never throws for any text. */
export function parseSetConfig(
  text: string,
  origin: string,
  schema: ContainerNode,
  validators: Validators,
  findings: Findings,
): SyntaxTree {
  return wholeText(text, origin, schema, findings, (tree) =>
    new SetReader(new Parser(withoutMetadata(text).text, origin, validators, findings), tree).file(),
  );
}

class SetReader {
  readonly #parser: Parser;
  readonly #tree: SyntaxTree;
  readonly #applier: Applier;
  /** Marks on what is not there yet: a file may say first what is inactive. */
  readonly #early: Plan[] = [];

  constructor(parser: Parser, tree: SyntaxTree) {
    this.#parser = parser;
    parser.root = tree.schema;
    this.#tree = tree;
    this.#applier = new Applier({ origin: tree.origin, reading: true });
  }

  file(): void {
    const { lexer } = this.#parser;
    let pending: string[] = [];
    while (true) {
      const token = lexer.peek();
      const comments = [...pending, ...token.comments.map((comment) => comment.text)];
      pending = [];
      lexer.next();
      if (token.kind === 'end') {
        append(this.#tree.closing, comments);
        for (const plan of this.#early) this.#tell(plan, this.#applier.mark(this.#tree.children, plan, true));
        return;
      }
      if (token.kind === ';') pending = comments;
      else this.#line(token, { place: token, inactive: false, comments, blank: token.blank });
    }
  }

  #line(verb: Token, head: Head): void {
    if (verb.kind !== 'word' || !SET_VERBS.includes(verb.text)) {
      this.#unknownVerb(verb);
      this.#parser.recover(verb);
      return;
    }
    const making = verb.text === 'set';
    const start = { schema: this.#tree.schema, path: '' };
    const plan = new PathReader(this.#parser, start, making ? 'make' : 'name').read(head);
    if (plan === undefined) return;
    const root = this.#tree.children;
    const marks = !making && verb.text !== 'delete' && verb.text !== 'activate';
    if (marks && !this.#applier.locate(root, plan).ok) {
      this.#early.push(plan);
      return;
    }
    const applied = making
      ? this.#applier.set(root, plan)
      : verb.text === 'delete'
        ? this.#applier.delete(root, plan)
        : this.#applier.mark(root, plan, verb.text !== 'activate');
    this.#tell(plan, applied);
  }

  #tell(plan: Plan, applied: Applied): void {
    if (applied.ok) return;
    const { place, message, hint } = applied.refusal;
    this.#parser.findings.fault(place, plan.path, message, { hint });
  }

  #unknownVerb(token: Token): void {
    const expected = 'set, delete or inactive';
    const what = token.kind === 'word' ? `"${clamp(token.text)}"` : describe(token);
    const hint = token.kind === 'word' ? didYouMean(token.text, SET_VERBS) : undefined;
    this.#parser.findings.fault(token, '', `a line begins with ${expected}, not ${what}`, { expected, hint });
  }
}
