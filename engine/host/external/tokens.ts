/**
 * Who may speak on the hub. Each external plugin has a token of its own, made once for its configured name and kept across
 * its restarts; a hub server may add a secret of its own and secrets for named clients (plugin-wire §9, §10).
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Shared secrets of one configured `hub server`; `undefined` on the internal hub. */
export interface HubSecrets {
  readonly secret: string;
  /** Client name → secret. */
  readonly clients: ReadonlyMap<string, string>;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

/** Compares digests, so that neither the length nor the first wrong character shows in the time it takes. */
export function sameSecret(given: string, wanted: string): boolean {
  return timingSafeEqual(digest(given), digest(wanted));
}

export class Tokens {
  readonly #tokens = new Map<string, string>();

  /** The plugin's token: 32 random bytes as 64 hex characters, the same one for as long as the name is known. */
  of(name: string): string {
    let token = this.#tokens.get(name);
    if (token === undefined) {
      token = randomBytes(32).toString('hex');
      this.#tokens.set(name, token);
    }
    return token;
  }

  forget(name: string): void {
    this.#tokens.delete(name);
  }

  /**
   * Does `given` open the door for `name`? The first secret that exists decides: the plugin's own token, else the client's
   * secret, else the server's. An unknown name costs the same comparison as a known one.
   */
  accepts(name: string, given: string, secrets: HubSecrets | undefined): boolean {
    const wanted = this.#tokens.get(name) ?? secrets?.clients.get(name) ?? secrets?.secret;
    const same = sameSecret(given, wanted ?? '');
    return same && wanted !== undefined && wanted !== '';
  }
}
