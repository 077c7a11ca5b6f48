/** What a plugin author's tests import: `zest-bgp/sdk/testing`. */
export type { CommandAnswer, EngineCallName, InputOf, OutputOf, RecordedCall, RecordedRoute } from './engine-answers.ts';
export { EngineLink, type Handshake } from './engine-link.ts';
export { type Direction, type EventFormat, events, type PeerLike, type TestPeer, testPeer } from './events.ts';
export { type CallbackName, FakeEngine } from './fake-engine.ts';
export {
  type ConnectedProcess,
  type ProcessUnderTest,
  queryDeclaration,
  type SpawnOptions,
  startProcess,
  TestHub,
} from './hub.ts';
export { readRecording, record, type RecordedLine, Recorder } from './recording.ts';
export { golden, replay, type Replayed, type ReplayOptions } from './replay.ts';
export type { Executed, FakeEngineOptions, LoggedLine, PluginUnderTest } from './under-test.ts';
export {
  type TestPrefix,
  type TestRoutes,
  type TestUpdate,
  updateBody,
  type UpdateContext,
  type UpdateParts,
  updateParts,
} from './update-body.ts';
export { within } from './within.ts';
