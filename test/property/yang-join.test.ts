// Modules that plugins bring: any module of the supported subset compiles and its values are read as it says; anything else is refused
// with the module and a line, never by another kind of error.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { configSchema, loadConfig } from '../../engine/config/load.ts';
import { PluginSchemas } from '../../engine/config/schema/plugin-schemas.ts';
import { YangError } from '../../yang/compile/reader.ts';

/** A leaf's type, one of its values, and a text that is none (if there is one). */
interface Kind {
  readonly type: string;
  readonly good: string;
  readonly bad: string | undefined;
}

const kind: fc.Arbitrary<Kind> = fc.oneof(
  fc.constant({ type: 'type string;', good: 'some', bad: undefined }),
  fc.constant({ type: 'type boolean;', good: 'true', bad: 'perhaps' }),
  fc.tuple(fc.constantFrom('uint8', 'int16', 'uint32'), fc.nat(100), fc.nat(20)).map(([base, low, more]) => ({
    type: `type ${base} { range "${low}..${low + more}"; }`,
    good: `${low}`,
    bad: `${low + more + 1}`,
  })),
  fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 4 }).map((values) => ({
    type: `type enumeration { ${values.map((value) => `enum ${value};`).join(' ')} }`,
    good: values[0] ?? '',
    bad: 'NONE',
  })),
  fc.tuple(fc.integer({ min: 1, max: 4 }), fc.nat(4)).map(([low, more]) => ({
    type: `type string { length "${low}..${low + more}"; pattern "[a-z]*"; }`,
    good: 'a'.repeat(low),
    bad: 'a'.repeat(low + more + 1),
  })),
  fc.constant({ type: 'type union { type uint8; type enumeration { enum none; } }', good: 'none', bad: 'many' }),
);

interface Node {
  /** Its statement; `name` makes names of one level differ. */
  yang(name: string): string;
  /** Config text that is good, and the same with one value that is not. */
  good(name: string): string;
  bad(name: string): string | undefined;
}

const leaf = kind.map(
  ({ type, good, bad }): Node => ({
    yang: (name) => `leaf ${name} { ${type} description "A leaf"; }`,
    good: (name) => `${name} ${good};`,
    bad: (name) => (bad === undefined ? undefined : `${name} ${bad};`),
  }),
);
const leafList = kind.map(
  ({ type, good, bad }): Node => ({
    yang: (name) => `leaf-list ${name} { ${type} }`,
    good: (name) => `${name} [ ${good} ];`,
    bad: (name) => (bad === undefined ? undefined : `${name} [ ${good} ${bad} ];`),
  }),
);

function inside(
  children: readonly Node[],
  wrap: (body: string, name: string) => string,
  block: (body: string, name: string) => string,
): Node {
  const names = children.map((_, index) => `n${index}`);
  return {
    yang: (name) => wrap(children.map((child, index) => child.yang(names[index]!)).join('\n'), name),
    good: (name) => block(children.map((child, index) => child.good(names[index]!)).join(' '), name),
    bad: (name) => {
      const at = children.findIndex((child, index) => child.bad(names[index]!) !== undefined);
      if (at < 0) return undefined;
      return block(
        children.map((child, index) => (index === at ? child.bad(names[index]!)! : child.good(names[index]!))).join(' '),
        name,
      );
    },
  };
}

const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    leafList,
    fc.array(tie('node'), { minLength: 1, maxLength: 4 }).map((children) =>
      inside(
        children,
        (body, name) => `container ${name} {\n${body}\n}`,
        (body, name) => `${name} { ${body} }`,
      ),
    ),
    fc.array(tie('node'), { maxLength: 3 }).map((children) =>
      inside(
        children,
        (body, name) => `list ${name} { key id; leaf id { type string; } ${body} }`,
        (body, name) => `${name} one { ${body} }`,
      ),
    ),
    fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((children) =>
      inside(
        children,
        (body, name) => `grouping g-${name} { ${body} } container ${name} { uses g-${name}; }`,
        (body, name) => `${name} { ${body} }`,
      ),
    ),
  ),
}));

const text = (body: string): string => `module acme {\n namespace "urn:acme"; prefix a;\n container acme {\n${body}\n }\n}\n`;

test('a module of the supported subset compiles, its values are read, what is none of them is refused', () => {
  fc.assert(
    fc.property(node, (one) => {
      const schemas = new PluginSchemas(configSchema());
      assert.equal(schemas.claim('p', { module: 'acme', 'yang-text': text(one.yang('top')) }), undefined);
      const load = (body: string): ReturnType<typeof loadConfig> =>
        loadConfig(`acme { ${body} }`, { path: 't', schema: schemas.tree });
      const good = load(one.good('top'));
      assert.ok(good.ok, JSON.stringify(good));
      const bad = one.bad('top');
      if (bad !== undefined) assert.ok(!load(bad).ok, bad);
      assert.ok(!load('none-of-these 1;').ok);
    }),
    { numRuns: 200 },
  );
});

const WORDS =
  'module container leaf list type string uint8 key range pattern augment uses grouping typedef must { } ; " \' + // /* */ ../ /a:b -1 {} \n é \u0000'.split(
    ' ',
  );
const damaged = fc
  .tuple(
    node,
    fc.array(fc.tuple(fc.nat(2000), fc.nat(30), fc.oneof(fc.constantFrom(...WORDS), fc.string({ maxLength: 8 }))), {
      minLength: 1,
      maxLength: 6,
    }),
  )
  .map(([one, edits]) =>
    edits.reduce(
      (whole, [at, cut, put]) => whole.slice(0, at % whole.length) + put + whole.slice((at % whole.length) + cut),
      text(one.yang('top')),
    ),
  );

test('a damaged module compiles or is refused with its name and a line; the schema is untouched then', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        damaged,
        fc.string(),
        fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join(' ')),
      ),
      (source) => {
        const schemas = new PluginSchemas(configSchema());
        const refused = schemas.claim('p', { module: 'acme', 'yang-text': source });
        if (refused === undefined) return;
        assert.match(refused, /^schema of plugin p: (?:acme:(?:\d+:| \/)|module acme)/);
        assert.equal(schemas.tree, configSchema());
        assert.doesNotMatch(refused, /[\u0000-\u001f\u007f]/);
      },
    ),
    { numRuns: 400 },
  );
});

test('compiling throws nothing but YangError', () => {
  fc.assert(
    fc.property(damaged, (source) => {
      try {
        configSchema().augment(source, 'acme');
      } catch (error) {
        assert.ok(error instanceof YangError, String(error));
        assert.ok(error.line >= 1);
      }
    }),
    { numRuns: 200 },
  );
});
