import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Bearer } from '../../auth/callers/credentials.js';
import { isId } from '../../platform/database/new-id.js';
import { fromBase64Url } from '../../formats/encoding/base64.js';

/** Life of a pass, at the longest. */
export const PASS_SECONDS = 3600;

/**
 * What the explorer's cookie holds: `<kind>.<id>.<end>.<HMAC-SHA-256>`, in base64url where it is not plain. It names the session or API key
 * that asked for it and says nothing secret, so it is good for nothing but these pages, and only while that session or key is.
 */
export class ExplorerPass {
  private readonly key: Buffer;

  constructor(secret: string) {
    this.key = Buffer.from(hkdfSync('sha256', secret, '', 'sealwright explorer pass', 32));
  }

  for({ kind, id }: Bearer): string {
    const text = `${kind}.${id}.${Math.floor(Date.now() / 1000) + PASS_SECONDS}`;
    return `${text}.${this.macOf(text).toString('base64url')}`;
  }

  /** Whose pass it is; undefined for what is no pass of ours, or too old. */
  holderOf(pass: string | undefined): Bearer | undefined {
    const [kind, id = '', end = '', mac = '', ...rest] = (pass ?? '').split('.');
    const shown = fromBase64Url(mac);
    const right = this.macOf(`${kind}.${id}.${end}`);
    if (rest.length > 0 || shown === undefined || shown.length !== right.length || !timingSafeEqual(shown, right))
      return undefined;
    if (Number(end) * 1000 <= Date.now() || !isId(id)) return undefined;
    return kind === 'session' || kind === 'api-key' ? { kind, id } : undefined;
  }

  private macOf(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest();
  }
}
