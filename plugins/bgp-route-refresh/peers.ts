// Which peers the configuration asks to negotiate route refresh, from the JSON of the `bgp` root.

type Tree = Readonly<Record<string, unknown>>;

/** Remote addresses of the peers with `session { capability { route-refresh } }` switched on. Throws on text that is not JSON. */
export function refreshPeers(data: string): string[] {
  const root = tree(JSON.parse(data));
  const bgp = tree(root?.['bgp']) ?? root;
  const peers = [bgp, ...members(bgp?.['group'])].flatMap((part) => members(part?.['peer']));
  return [...new Set(peers.filter(wants).map(address))].filter((text) => text !== '');
}

function wants(peer: Tree): boolean {
  const capability = tree(tree(peer['session'])?.['capability']);
  const value = capability?.['route-refresh'];
  const mode = tree(value)?.['mode'] ?? value;
  return mode !== undefined && mode !== false && mode !== 'false' && mode !== 'disable' && mode !== 'refuse';
}

function address(peer: Tree): string {
  const ip = tree(tree(peer['connection'])?.['remote'])?.['ip'];
  return typeof ip === 'string' ? ip : '';
}

function members(list: unknown): Tree[] {
  return Object.values(tree(list) ?? {})
    .map(tree)
    .filter((value) => value !== undefined);
}

function tree(value: unknown): Tree | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : undefined;
}
