/**
 * The hub's certificates: a CA the daemon owns, made at its first start and kept in the state directory, and short-lived
 * leaves signed by it (design.md §5). Plugins trust this CA alone. Only this file knows the library that writes X.509; it is
 * loaded when the first hub opens, so that a daemon without external plugins never pays for it.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeFolders } from '../../core/folders.ts';

const HOUR = 3_600_000;
const CA_YEARS = 10;
/** Clocks of other machines may be behind ours. */
const BACKDATE = 5 * 60_000;

export interface Leaf {
  /** PEM */
  readonly key: string;
  /** PEM: the leaf, then the CA. */
  readonly chain: string;
  /** SHA-256 of the leaf's DER, lower-case hex: `ZE_PLUGIN_CERT_FP`. */
  readonly fingerprint: string;
  /** ms since the epoch */
  readonly notAfter: number;
}

export interface AuthorityOptions {
  /** `undefined` = keep the CA in memory. */
  readonly directory: string | undefined;
  /** ms since the epoch: certificates speak of calendar time. */
  readonly wall: () => number;
  /** Called when the directory can't be used; the CA then lives in memory. */
  readonly unwritable: (directory: string, cause: Error) => void;
}

interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

export const LEAF_LIFETIME = 24 * HOUR;
/** A leaf older than this is replaced before the next handshake or spawn. */
export const LEAF_RENEW = 12 * HOUR;

export class Authority {
  readonly #ca: KeyPair;
  readonly #wall: () => number;
  readonly #leaves = new Map<string, Leaf>();
  readonly #making = new Map<string, Promise<Leaf>>();

  private constructor(ca: KeyPair, wall: () => number) {
    this.#ca = ca;
    this.#wall = wall;
  }

  static async open(options: AuthorityOptions): Promise<Authority> {
    const { directory, wall } = options;
    if (directory === undefined) return new Authority(await makeAuthority(wall()), wall);
    const stored = await readAuthority(directory, wall());
    if (stored !== undefined) return new Authority(stored, wall);
    const fresh = await makeAuthority(wall());
    try {
      await storeAuthority(directory, fresh);
    } catch (cause) {
      options.unwritable(directory, cause instanceof Error ? cause : new Error(String(cause)));
    }
    return new Authority(fresh, wall);
  }

  /** PEM of the root to trust: `ZE_PLUGIN_CA_PEM`. */
  get pem(): string {
    return this.#ca.cert;
  }

  /** A leaf for these listen hosts with at least half of its life left; made anew when there is none. */
  leaf(hosts: readonly string[]): Promise<Leaf> {
    const key = hosts.join(' ');
    const known = this.#leaves.get(key);
    if (known !== undefined && known.notAfter - this.#wall() > LEAF_LIFETIME - LEAF_RENEW) return Promise.resolve(known);
    const running = this.#making.get(key);
    if (running !== undefined) return running;
    const making = makeLeaf(this.#ca, hosts, this.#wall())
      .then((leaf) => {
        this.#leaves.set(key, leaf);
        return leaf;
      })
      .finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }
}

async function makeAuthority(now: number): Promise<KeyPair> {
  const { generate } = await import('selfsigned');
  const made = await generate([{ name: 'commonName', value: 'Zest plugin hub CA' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - BACKDATE),
    notAfterDate: new Date(now + CA_YEARS * 365 * 24 * HOUR),
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { key: made.private, cert: made.cert };
}

async function makeLeaf(ca: KeyPair, hosts: readonly string[], now: number): Promise<Leaf> {
  const { generate } = await import('selfsigned');
  const notAfter = now + LEAF_LIFETIME - BACKDATE;
  const made = await generate([{ name: 'commonName', value: 'Zest plugin hub' }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - BACKDATE),
    notAfterDate: new Date(notAfter),
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: namesFor(hosts) },
    ],
  });
  const fingerprint = new X509Certificate(made.cert).fingerprint256.replaceAll(':', '').toLowerCase();
  return { key: made.private, chain: `${made.cert.trimEnd()}\n${ca.cert}`, fingerprint, notAfter };
}

/** A listener on every address is dialled by some name of this machine; loopback is always among them. */
function namesFor(hosts: readonly string[]): ({ type: 2; value: string } | { type: 7; ip: string })[] {
  const names = new Set<string>();
  for (const host of hosts) {
    if (host !== '0.0.0.0' && host !== '::') names.add(host);
  }
  for (const host of ['127.0.0.1', '::1', 'localhost']) names.add(host);
  return [...names].map((name) => (isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name }));
}

/** Key and certificate in one file: two daemons that start at once replace it whole, never half. */
const CA_FILE = 'hub-ca.pem';
const KEY_END = '-----END PRIVATE KEY-----\n';

/** `undefined` when there is none, when it can't be read, or when it ends within a day: a new one is made then. */
async function readAuthority(directory: string, now: number): Promise<KeyPair | undefined> {
  try {
    const text = await readFile(join(directory, CA_FILE), 'utf8');
    const cut = text.indexOf(KEY_END) + KEY_END.length;
    const [key, cert] = [text.slice(0, cut), text.slice(cut)];
    const parsed = new X509Certificate(cert);
    if (!parsed.ca || !parsed.checkPrivateKey(createPrivateKey(key))) return undefined;
    if (Date.parse(parsed.validTo) - now < LEAF_LIFETIME || Date.parse(parsed.validFrom) > now) return undefined;
    return { key, cert };
  } catch {
    return undefined;
  }
}

async function storeAuthority(directory: string, ca: KeyPair): Promise<void> {
  makeFolders(directory, 0o700);
  const path = join(directory, CA_FILE);
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, `${ca.key.trimEnd()}\n${ca.cert}`, { mode: 0o600 });
  await chmod(fresh, 0o600);
  await rename(fresh, path);
}
