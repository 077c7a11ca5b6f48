// The plan of a transaction: operations of the plugins that take their change apart, one node each for those that do not, the engine's own
// steps; and every reason why there is none.
import type { ConfigOperation } from '../../../yang/generated/methods.ts';
import type { Share } from './changes.ts';
import { inOrder, MAX_MATCHES, type Ordered } from './order.ts';
import type { EngineStep, Participant } from './participant.ts';
import { isBlank } from './resources.ts';

/** The engine's label for a change that a plugin applies as a whole. */
export const SECTION_APPLY = 'section-apply';
/** Of one transaction, over all plugins. */
export const MAX_OPERATIONS = 10_000;

/** A plugin and what it is shown of the change. */
export interface Member {
  readonly participant: Participant;
  readonly share: Share;
}

export type PlanNode = Ordered &
  (
    | { readonly kind: 'operation'; readonly member: Member; readonly operation: ConfigOperation }
    | { readonly kind: 'section'; readonly member: Member }
    | { readonly kind: 'engine'; readonly step: EngineStep }
  );

export type PlanResult =
  | { readonly ok: true; readonly nodes: readonly PlanNode[] }
  | { readonly ok: false; readonly plugin: string; readonly message: string };

/** Names that events and acknowledgements are made of. */
const RESERVED = ['ok', 'failed', 'abort'];

export function reservedName(members: readonly Member[]): string | undefined {
  return members.find(({ participant }) => RESERVED.includes(participant.name))?.participant.name;
}

export type DecomposedRoots =
  | { readonly ok: true; readonly roots: readonly string[] }
  | { readonly ok: false; readonly message: string };

/** Changed roots that the plugin takes apart: all of them, or none. */
export function decomposedRoots({ participant, share }: Member): DecomposedRoots {
  const declared = new Set(participant.operations.filter((decl) => decl.decompose === true).map((decl) => decl.root));
  const roots = share.roots.filter((root) => declared.has(root));
  if (roots.length === 0 || roots.length === share.roots.length) return { ok: true, roots };
  const rest = share.roots.filter((root) => !declared.has(root));
  return { ok: false, message: `decomposes ${roots.join(', ')} but not ${rest.join(', ')}: all changed roots or none` };
}

/** Why an operation that the plugin emitted for a root is refused; `seen` holds the ids so far and takes this one. */
export function refusedOperation(
  participant: Participant,
  root: string,
  operation: ConfigOperation,
  seen: Set<string>,
): string | undefined {
  const { id, owner, type, verb } = operation;
  const shown = `operation ${quoted(id)}`;
  if (id.trim() === '') return 'an operation without id';
  if (seen.has(id)) return `${shown}: the id is taken in this transaction`;
  if (seen.size >= MAX_OPERATIONS) return `more than ${MAX_OPERATIONS} operations`;
  if (operation.root !== root) return `${shown}: root ${quoted(operation.root)} is not ${quoted(root)}, which was asked for`;
  if (owner !== '' && owner !== participant.name) return `${shown}: owner ${quoted(owner)} is another plugin`;
  if (type === SECTION_APPLY) return `${shown}: label ${SECTION_APPLY} is reserved`;
  const labels = participant.operations.filter((decl) => decl.root === root).flatMap((decl) => decl.operations ?? []);
  if (!labels.includes(type)) return `${shown}: label ${quoted(type)} is not declared for root ${quoted(root)}`;
  if (!isVerb(verb))
    return verb === '' ? `${shown} has no verb` : `${shown}: verb ${quoted(verb)} is not create, destroy or modify`;
  for (const list of ['produces', 'consumes'] as const) {
    if ((operation[list] ?? []).some(isBlank)) return `${shown}: ${list} a blank resource`;
  }
  seen.add(id);
  return undefined;
}

function isVerb(verb: string): verb is ConfigOperation['verb'] {
  return verb === 'create' || verb === 'destroy' || verb === 'modify';
}

export function operationNode(member: Member, operation: ConfigOperation): PlanNode {
  const { id, verb, target, produces = [], consumes = [], params } = operation;
  const allowDual = params?.['allow-dual'] === true;
  const owned = { ...operation, owner: member.participant.name };
  return { kind: 'operation', member, operation: owned, id, verb, target, produces, consumes, allowDual, last: false };
}

export function sectionNode(member: Member): PlanNode {
  const id = `${SECTION_APPLY}:${member.participant.name}`;
  const none = { target: undefined, produces: [], consumes: [], allowDual: false, last: false } as const;
  return { kind: 'section', member, id, verb: 'modify', ...none };
}

export function engineNode(step: EngineStep): PlanNode {
  const { owner, type, verb, produces, consumes } = step;
  return {
    kind: 'engine',
    step,
    id: `${owner}:${type}`,
    verb,
    target: undefined,
    produces,
    consumes,
    allowDual: false,
    last: true,
  };
}

/** In the order of apply. A cycle names the first plugin in it. */
export function planOf(nodes: readonly PlanNode[]): PlanResult {
  const sorted = inOrder(nodes);
  if (sorted.ok) return sorted;
  if (sorted.cycle.length === 0)
    return {
      ok: false,
      plugin: busiest(nodes),
      message: `operations name each other's resources more than ${MAX_MATCHES} times`,
    };
  const first = nodes.find((node) => node.id === sorted.cycle[0]);
  return {
    ok: false,
    plugin: first === undefined ? '' : ownerOf(first),
    message: `operations wait for each other: ${sorted.cycle.slice(0, 8).join(', ')}${sorted.cycle.length > 8 ? ', …' : ''}`,
  };
}

/** Whose operations name the most resources. */
function busiest(nodes: readonly PlanNode[]): string {
  const counts = new Map<string, number>();
  for (const node of nodes)
    counts.set(ownerOf(node), (counts.get(ownerOf(node)) ?? 0) + node.produces.length + node.consumes.length);
  return [...counts].reduce(([most, count], [name, own]) => (own > count ? [name, own] : [most, count]), ['', -1])[0];
}

export function ownerOf(node: PlanNode): string {
  return node.kind === 'engine' ? node.step.owner : node.member.participant.name;
}

function quoted(text: string): string {
  return `"${text.length > 64 ? `${text.slice(0, 64)}…` : text}"`;
}
