import assert from 'node:assert/strict';
import test from 'node:test';
import { builtInCommands, pluginCommand } from '../../../engine/command/spec.ts';
import { CommandTree } from '../../../engine/command/tree.ts';

const words = (text: string): string[] => text.split(' ');

test('a plugin goes with its commands, its old spellings too', () => {
  const tree = new CommandTree(builtInCommands());
  const before = tree.all().length;
  assert.equal(tree.add(pluginCommand('p', { name: 'Acme  Status', 'deprecated-names': ['old acme'] })), undefined);
  assert.deepEqual(tree.match(words('acme status now')), { spec: tree.exact('ACME status'), used: 2, deprecated: false });
  assert.equal(tree.match(words('old acme'))?.deprecated, true);
  assert.equal(tree.exact('old acme')?.handler, 'Acme  Status');
  tree.remove('p');
  assert.equal(tree.match(words('acme status')), undefined);
  assert.equal(tree.match(words('old acme')), undefined);
  assert.equal(tree.all().length, before);
  assert.equal(tree.reaches(['acme']), false);
});

test('two plugins cannot own one command', () => {
  const tree = new CommandTree([]);
  tree.add(pluginCommand('a', { name: 'x y' }));
  assert.equal(tree.add(pluginCommand('b', { name: 'X Y' })), 'command conflict: "x y" already registered by a');
  assert.equal(tree.exact('x y')?.owner, 'a');
  assert.equal(tree.add(pluginCommand('a', { name: 'x y', 'short-help': 'again' })), undefined);
  assert.equal(tree.exact('x y')?.summary, 'again');
});

test('a plugin never takes a built-in command over', () => {
  const tree = new CommandTree(builtInCommands());
  tree.add(pluginCommand('p', { name: 'peer teardown 2' }));
  tree.add(pluginCommand('p', { name: 'summary' }));
  tree.add(pluginCommand('p', { name: 'show version detail' }));
  assert.equal(tree.match(words('peer teardown 2'))?.spec.owner, 'engine');
  assert.equal(tree.match(words('summary'))?.spec.owner, 'engine');
  assert.equal(tree.match(words('show version'))?.spec.owner, 'engine');
  // A built-in that takes no argument leaves the longer path to the plugin: there it would only be a mistake.
  assert.equal(tree.match(words('show version detail'))?.spec.owner, 'p');
});

test('an old spelling never covers a command of its own', () => {
  const tree = new CommandTree([]);
  tree.add(pluginCommand('a', { name: 'rib show' }));
  tree.add(pluginCommand('b', { name: 'table show', 'deprecated-names': ['rib show'] }));
  assert.equal(tree.match(words('rib show'))?.spec.owner, 'a');
});

test('hidden commands and old spellings are reached, not offered', () => {
  const tree = new CommandTree(builtInCommands());
  const firsts = tree.next([]).map((next) => next.word);
  assert.ok(firsts.includes('summary') && firsts.includes('peer'));
  assert.ok(!firsts.includes('bgp'));
  assert.ok(!tree.next(['peer']).some((next) => next.word === 'plugin'));
  assert.ok(tree.reaches(words('peer plugin session ready')));
});

test('words such as __proto__ and constructor are only words', () => {
  const tree = new CommandTree(builtInCommands());
  for (const word of ['__proto__', 'constructor', 'toString']) assert.equal(tree.match([word]), undefined);
});
