// The wire fixtures, played against the engine by a plugin of raw lines and against the SDK by an engine of raw lines; then again by
// foreigners, who say the same in forms that older and newer programs use.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TRANSPORTS } from './engine-world.ts';
import { fixtures, isRequest, type Step } from './fixture-file.ts';
import { PROTOCOL } from './fields.ts';
import { DIALECTS } from './dialects.ts';
import { playEngine, playSdk } from './play.ts';

const all = fixtures();

test('every method stands in a fixture', () => {
  const played = new Set(all.flatMap(({ steps }) => steps.filter(isRequest).map((step) => step.verb)));
  assert.deepEqual([...played].sort(), Object.keys(PROTOCOL).sort());
});

for (const fixture of all) {
  for (const transport of TRANSPORTS) {
    if (fixture.only !== 'sdk')
      test(`${fixture.name}: the engine keeps to it over ${transport}`, () => playEngine(fixture, transport));
    if (fixture.only !== 'engine')
      test(`${fixture.name}: the SDK keeps to it over ${transport}`, () => playSdk(fixture, transport));
  }
  for (const [dialect, speak] of Object.entries(DIALECTS)) {
    const methodOf = (step: Step): string => fixture.steps.find((asked) => asked.answer.includes(step))?.verb ?? '';
    const voice = (step: Step): string => speak(step, methodOf(step));
    if (fixture.only !== 'sdk')
      test(`${fixture.name}: the engine understands a plugin with ${dialect}`, () => playEngine(fixture, 'pipe', voice));
    if (fixture.only !== 'engine')
      test(`${fixture.name}: the SDK understands an engine with ${dialect}`, () => playSdk(fixture, 'pipe', voice));
  }
}
