/** Numbers of the kinds of event rows: their bits in masks, the same as their places in the reactor's EVENT_KINDS (a test says so). */
import type { EventKind } from '../bgp/port.ts';

export const KIND_NUMBER: Readonly<Record<EventKind, number>> = {
  none: 0,
  update: 1,
  open: 2,
  notification: 3,
  keepalive: 4,
  refresh: 5,
  state: 6,
  negotiated: 7,
  eor: 8,
  congested: 9,
  resumed: 10,
};

/** By number. */
export const KINDS: readonly EventKind[] = (Object.keys(KIND_NUMBER) as EventKind[]).sort(
  (a, b) => KIND_NUMBER[a] - KIND_NUMBER[b],
);
