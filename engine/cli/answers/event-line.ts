/** An event for people: one line that says who, what and which way. Unknown events are shown as they are. */
import { visible } from './escape.ts';
import { isMap } from './table.ts';

export function eventLine(event: unknown): string {
  if (isMap(event) && event['type'] === 'gap' && isMap(event['gap']))
    return `(${word(event['gap']['dropped'])} events dropped: this view fell behind)`;
  const bgp = isMap(event) ? event['bgp'] : undefined;
  if (!isMap(bgp) || !isMap(bgp['message'])) return visible(JSON.stringify(event));
  const message = bgp['message'];
  const peer = isMap(bgp['peer']) ? bgp['peer'] : {};
  const remote = isMap(peer['remote']) ? peer['remote'] : {};
  const type = word(message['type']);
  const parts = [
    word(peer['name']) || word(peer['address']) || word(remote['address']),
    word(message['direction']),
    type,
    detail(type, bgp),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function detail(type: string, bgp: Readonly<Record<string, unknown>>): string {
  if (type === 'state') return [word(bgp['state']), word(bgp['reason'])].filter((part) => part !== '').join(': ');
  const body = bgp[type] ?? bgp['update'];
  if (!isMap(body)) return '';
  if (type !== 'update' && type !== 'sent') return visible(JSON.stringify(body));
  const routes: string[] = [];
  for (const [family, groups] of Object.entries(isMap(body['nlri']) ? body['nlri'] : body)) {
    if (!Array.isArray(groups)) continue;
    for (const group of groups as readonly unknown[]) if (isMap(group)) routes.push(...routeGroup(family, group));
  }
  return routes.join(' ');
}

/** `ipv4/unicast add 192.0.2.0/24 (+3 more) via 10.0.0.1`. */
function routeGroup(family: string, group: Readonly<Record<string, unknown>>): readonly string[] {
  const nlri = Array.isArray(group['nlri']) ? (group['nlri'] as readonly unknown[]) : [];
  if (nlri.length === 0) return [];
  const first = typeof nlri[0] === 'string' ? visible(nlri[0]) : visible(JSON.stringify(nlri[0]));
  const more = nlri.length > 1 ? ` (+${nlri.length - 1} more)` : '';
  const via = typeof group['next-hop'] === 'string' ? ` via ${visible(group['next-hop'])}` : '';
  return [`${visible(family)} ${word(group['action'])} ${first}${more}${via}`];
}

function word(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? visible(String(value)) : '';
}
