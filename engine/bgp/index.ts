// The room's public face: what the two composition roots need, and the contract everybody else sees as types.
export { RemoteReactor, reactorBoot, serveReactor, startInline } from './remote.ts';
export type { Post, ReactorBoot, ServeOptions } from './remote.ts';
export { Reactor } from './reactor.ts';
export type { ReactorOptions } from './reactor.ts';
export { warmUp } from './warm-up.ts';
export type { FilterStep, Passage, Verdict } from './pipeline.ts';
export type * from './port.ts';
