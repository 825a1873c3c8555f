import { inDays } from '../support/access.js';
import type { Answer, Service } from '../support/service.js';
import { createKey, digestOf, type PublishedKey, publishedKey, sign } from '../support/signing.js';
import { openStage, type Stage } from '../support/stage.js';

export const KEYS = '/api/settings/api-keys';
export const CLIENTS = '/api/settings/oauth-clients';
/** Name of a signing key that the limits in these tests do not include. */
export const OTHER = 'default';
export const REFUSAL = { status: 403, code: 'credential.key' } as const;
export const BEYOND = { status: 403, code: 'api-key.beyond-caller' } as const;

interface LimitedKey {
  readonly id: string;
  readonly key: string;
  readonly keys: string[] | null;
}

/** A service with the signing keys `release-a` and `default`, and calls with limited credentials. */
export class LimitedCredentials {
  private constructor(
    readonly stage: Stage,
    readonly service: Service,
    readonly apiKey: string,
    readonly own: PublishedKey,
    readonly other: PublishedKey,
  ) {}

  static async open(): Promise<LimitedCredentials> {
    const stage = await openStage();
    const { apiKey } = await stage.seed();
    const service = await stage.start();
    const own = await createKey(service, apiKey, { name: 'release-a', type: 'ec-p256' });
    return new LimitedCredentials(stage, service, apiKey, own, await publishedKey(service, apiKey, OTHER));
  }

  call(method: string, path: string, { body, by = this.apiKey, headers = {} }: CallOptions = {}): Promise<Answer> {
    return this.service.call(method, path, { key: by, headers, ...(body === undefined ? {} : { body }) });
  }

  /** Updates a credential whose current version is `version`. */
  patch(path: string, body: object, { version = 1, by = this.apiKey } = {}): Promise<Answer> {
    return this.call('PATCH', path, { body, by, headers: { 'if-match': `"${version}"` } });
  }

  /** Creates an API key that is limited to certain signing keys. */
  async limited(keys?: string[], permissions = ['admin:*'], by = this.apiKey): Promise<LimitedKey> {
    const { status, body } = await this.call('POST', KEYS, { body: orderOf(permissions, { keys }), by });
    if (status !== 201) throw new Error(`no API key was made: ${JSON.stringify(body)}`);
    return body;
  }

  signWith(key: string, name: string, at = this.service): Promise<Answer> {
    return sign(at, { key, body: { digest: digestOf(name), key: name } });
  }
}

interface CallOptions {
  readonly body?: unknown;
  /** Credential of the caller. */
  readonly by?: string;
  readonly headers?: Record<string, string>;
}

/** Returns the body of a request that creates an API key. */
export const orderOf = (permissions: string[], more: object = {}): object => ({
  name: 'limited',
  permissions,
  expiry: inDays(1),
  ...more,
});
