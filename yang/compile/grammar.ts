// RFC 7950 §7, §9: which statement may stand in which, how often, and what its argument may be. What is not in these tables is a
// fault that names the statement; what a statement means is decided in modules, types, resolve, tree.
import { type Statement, YangError } from './reader.ts';

const DATA = 'container* leaf* leaf-list* list* choice* anydata* anyxml* uses*';
const DEFINITIONS = 'typedef* grouping*';
const TEXTS = 'description? reference?';
const NODE = `if-feature* status? when? ${TEXTS}`;
const HEADER = `yang-version? import* include* organization? contact? ${TEXTS} revision*`;
const BODY = `extension* feature* identity* ${DEFINITIONS} ${DATA} augment* rpc* notification* deviation*`;
const TYPE = 'fraction-digits? range? length? pattern* enum* bit* path? base* require-instance? type*';
const MESSAGE = `error-message? error-app-tag? ${TEXTS}`;

/** By keyword: what may stand in it. `!` once, `?` at most once, `*` any number, `+` at least one. */
const TABLE: Readonly<Record<string, string>> = {
  module: `namespace! prefix! ${HEADER} ${BODY}`,
  submodule: `belongs-to! ${HEADER} ${BODY}`,
  'yang-version': '',
  namespace: '',
  prefix: '',
  import: `prefix! revision-date? ${TEXTS}`,
  include: `revision-date? ${TEXTS}`,
  'belongs-to': 'prefix!',
  'revision-date': '',
  organization: '',
  contact: '',
  description: '',
  reference: '',
  revision: TEXTS,
  extension: `argument? status? ${TEXTS}`,
  argument: 'yin-element?',
  'yin-element': '',
  feature: `if-feature* status? ${TEXTS}`,
  'if-feature': '',
  identity: `base* if-feature* status? ${TEXTS}`,
  base: '',
  typedef: `type! units? default? status? ${TEXTS}`,
  type: TYPE,
  range: MESSAGE,
  length: MESSAGE,
  pattern: `modifier? ${MESSAGE}`,
  modifier: '',
  enum: `value? if-feature* status? ${TEXTS}`,
  bit: `position? if-feature* status? ${TEXTS}`,
  value: '',
  position: '',
  'fraction-digits': '',
  path: '',
  'require-instance': '',
  units: '',
  default: '',
  status: '',
  config: '',
  mandatory: '',
  presence: '',
  'ordered-by': '',
  must: MESSAGE,
  when: TEXTS,
  'error-message': '',
  'error-app-tag': '',
  'min-elements': '',
  'max-elements': '',
  key: '',
  unique: '',
  grouping: `status? ${TEXTS} ${DEFINITIONS} ${DATA} action* notification*`,
  container: `${NODE} must* presence? config? ${DEFINITIONS} ${DATA} action* notification*`,
  list: `${NODE} must* key? unique* config? min-elements? max-elements? ordered-by? ${DEFINITIONS} ${DATA} action* notification*`,
  leaf: `${NODE} type! units? must* default? config? mandatory?`,
  'leaf-list': `${NODE} type! units? must* default* config? min-elements? max-elements? ordered-by?`,
  choice: `${NODE} default? config? mandatory? case* container* leaf* leaf-list* list* choice* anydata* anyxml*`,
  case: `${NODE} ${DATA}`,
  anydata: `${NODE} must* config? mandatory?`,
  anyxml: `${NODE} must* config? mandatory?`,
  uses: `${NODE} refine* augment*`,
  refine: `if-feature* must* presence? default* config? mandatory? min-elements? max-elements? ${TEXTS}`,
  augment: `${NODE} case* ${DATA} action* notification*`,
  rpc: `if-feature* status? ${TEXTS} ${DEFINITIONS} input? output?`,
  action: `if-feature* status? ${TEXTS} ${DEFINITIONS} input? output?`,
  input: `must* ${DEFINITIONS} ${DATA}`,
  output: `must* ${DEFINITIONS} ${DATA}`,
  notification: `${NODE} must* ${DEFINITIONS} ${DATA}`,
  deviation: `${TEXTS} deviate+`,
  deviate: 'type? units? must* unique* default* config? mandatory? min-elements? max-elements?',
};

const BOOLEAN = ['true', 'false'];
const WORDS: Readonly<Record<string, readonly string[]>> = {
  'yang-version': ['1', '1.0', '1.1'],
  config: BOOLEAN,
  mandatory: BOOLEAN,
  'require-instance': BOOLEAN,
  'yin-element': BOOLEAN,
  status: ['current', 'deprecated', 'obsolete'],
  'ordered-by': ['user', 'system'],
  modifier: ['invert-match'],
  deviate: ['not-supported', 'add', 'replace', 'delete'],
};

/** RFC 7950 §6.2 */
export const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
/** Statements whose argument is a name, each once among its neighbours of the same kind. */
const NAMED = new Set(['typedef', 'grouping', 'identity', 'extension', 'feature', 'rpc', 'action', 'notification', 'case']);
const NUMBERS: Readonly<Record<string, RegExp>> = {
  value: /^(?:-?[1-9]\d{0,9}|0)$/,
  position: /^(?:[1-9]\d{0,9}|0)$/,
  'fraction-digits': /^(?:1[0-8]?|[2-9])$/,
  'min-elements': /^(?:[1-9]\d{0,8}|0)$/,
  'max-elements': /^(?:[1-9]\d{0,8}|0|unbounded)$/,
  'revision-date': /^\d{4}-\d{2}-\d{2}$/,
  revision: /^\d{4}-\d{2}-\d{2}$/,
};

interface Allowed {
  /** Keyword to how often. */
  readonly counts: ReadonlyMap<string, string>;
  readonly needed: readonly string[];
}

const allowed = new Map<string, Allowed>(
  Object.entries(TABLE).map(([keyword, words]) => {
    const counts = new Map(
      words
        .split(' ')
        .filter((word) => word !== '')
        .map((word) => [word.slice(0, -1), word.slice(-1)] as const),
    );
    const needed = [...counts].filter(([, count]) => count === '!' || count === '+').map(([name]) => name);
    return [keyword, { counts, needed }];
  }),
);

/** Checks a module or submodule and all below. Statements with a prefix are other modules' and looked at by who knows them. Throws `YangError`. */
export function checkGrammar(statement: Statement): void {
  if (statement.keyword.includes(':')) return;
  const of = allowed.get(statement.keyword);
  if (of === undefined) throw new YangError(statement, 'is no statement of YANG');
  checkArgument(statement);
  const seen = new Set<string>();
  for (const inner of statement.children) {
    if (inner.keyword.includes(':')) continue;
    const count = of.counts.get(inner.keyword);
    if (count === undefined) {
      throw new YangError(
        inner,
        allowed.has(inner.keyword) ? `may not stand in a ${statement.keyword}` : 'is no statement of YANG',
      );
    }
    const key = NAMED.has(inner.keyword) ? `${inner.keyword} ${inner.argument ?? ''}` : inner.keyword;
    if (seen.has(key) && (count === '!' || count === '?' || key !== inner.keyword)) {
      throw new YangError(inner, `stands twice in ${statement.keyword} ${statement.argument ?? ''}`.trimEnd());
    }
    seen.add(key);
    checkGrammar(inner);
  }
  for (const needed of of.needed) {
    if (!statement.children.some((inner) => inner.keyword === needed)) throw new YangError(statement, `needs a ${needed}`);
  }
}

function checkArgument(statement: Statement): void {
  const { keyword, argument } = statement;
  if (keyword === 'input' || keyword === 'output') {
    if (argument !== undefined) throw new YangError(statement, 'takes no argument');
    return;
  }
  if (argument === undefined) throw new YangError(statement, 'needs an argument');
  const words = WORDS[keyword];
  if (words?.includes(argument) === false) throw new YangError(statement, `must be one of ${words.join(', ')}`);
  if (NUMBERS[keyword]?.test(argument) === false) throw new YangError(statement, `the argument is malformed`);
  if (NAMED.has(keyword) && !IDENTIFIER.test(argument)) throw new YangError(statement, 'the name is no identifier');
}
