import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientEnvironment, serviceAddress } from './transport.js';
import { alone, type StoredCredentials, readStoredCredentials, writeCredentials } from './credentials.js';
import { ClientError, EXIT, type ExitCode } from './exit-codes.js';
import { workloadToken } from './workload-identity.js';
import { exchange, type HttpAnswer, httpServer, type HttpServer, isOk, retryAfterOf } from './http-exchange.js';

/** HTTP statuses after which a repeatable call is retried. The statuses come from the service or from a proxy in front of the service (RFC 9110 section 15). */
const PASSING = new Set([408, 429, 502, 503, 504]);
const ATTEMPTS = 5;
const MAX_PAUSE_S = 30;
const CALL_MS = 60_000;
const RENEWAL_MS = 10_000;
const MAX_STREAM_MS = 6 * 3_600_000;

export interface CallOptions {
  readonly body?: unknown;
  /** JSON text, sent unchanged. */
  readonly json?: string;
  /** Body that is not JSON. The headers contain its type. */
  readonly raw?: Buffer | undefined;
  readonly headers?: Record<string, string>;
  /** Whether the call may be repeated, because it only reads or contains an Idempotency-Key. */
  readonly repeatable?: boolean;
  /** Time limit in milliseconds. */
  readonly limitMs?: number;
  /** Aborts the call when the response is no longer needed. */
  readonly signal?: AbortSignal;
}

interface Problem {
  readonly code?: string;
  readonly detail?: string;
  readonly scope?: string;
}

/** ApiClient calls the service over HTTP. Repeatable calls are retried while the service is busy or briefly unavailable. */
export class ApiClient {
  private readonly server: HttpServer;

  private constructor(
    private credentials: Omit<StoredCredentials, 'token'> & { readonly token?: string },
    private readonly environment: ClientEnvironment,
    private readonly isWorkload = false,
  ) {
    this.server = httpServer(credentials.url);
  }

  /**
   * Opens an authenticated client. `url` comes from the command line.
   *
   * @throws ClientError if no URL or no credential is given
   */
  static async open(environment: ClientEnvironment, url: string | undefined): Promise<ApiClient> {
    const kept = environment.token === undefined ? await readStoredCredentials(environment.credentialsFile) : undefined;
    const safe = addressOf(environment, url ?? environment.url ?? kept?.url);
    const own = environment.token ?? (kept?.url === safe ? kept.token : undefined);
    const token = own ?? (await workloadToken(safe, environment.variables));
    if (token === undefined)
      throw new ClientError(
        EXIT.authentication,
        `You are not logged in. Run "sealwright login", or set SEALWRIGHT_TOKEN.${inGitHub(environment)}`,
      );
    return new ApiClient({ ...kept, url: safe, token }, environment, own === undefined);
  }

  /**
   * Opens a client without a credential, for public calls and for calls that authenticate themselves.
   *
   * @throws ClientError if no URL is given
   */
  static async withoutCredential(environment: ClientEnvironment, url: string | undefined): Promise<ApiClient> {
    const given = url ?? environment.url ?? (await readStoredCredentials(environment.credentialsFile))?.url;
    return new ApiClient({ url: addressOf(environment, given) }, environment);
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- answers are of every shape; commands read what the API describes
  async call(method: string, path: string, options: CallOptions = {}): Promise<any> {
    const answer = await this.answered(method, path, options);
    const content = await text(answer);
    if (answer.statusCode === 204) return undefined;
    if (isOk(answer)) return JSON.parse(content);
    throw errorOf(answer, content);
  }

  /** Sends a body that is not JSON and returns the body of the response. Retries the call while the service is busy. */
  async bytes(method: string, path: string, sent?: { type: string; body: Buffer }): Promise<{ body: Buffer }> {
    const headers: Record<string, string> = sent === undefined ? {} : { 'content-type': sent.type };
    const answer = await this.answered(method, path, { raw: sent?.body, headers, repeatable: true });
    const body = await buffer(answer);
    if (isOk(answer)) return { body };
    throw errorOf(answer, body.toString());
  }

  /** Returns the body of a response as a stream, because the body may be too large for memory and slow to read. */
  async stream(path: string): Promise<AsyncIterable<unknown>> {
    const answer = await this.answered('GET', path, { limitMs: MAX_STREAM_MS });
    if (isOk(answer)) return answer;
    throw errorOf(answer, await text(answer));
  }

  /** Returns the response. If the credential has expired, renews the credential and retries once. */
  private async answered(method: string, path: string, options: CallOptions): Promise<HttpAnswer> {
    const answer = await this.sent(method, path, options);
    if (answer.statusCode !== 401 || !(await this.renewed())) return answer;
    answer.resume();
    return this.sent(method, path, options);
  }

  private async sent(method: string, path: string, options: CallOptions): Promise<HttpAnswer> {
    const { repeatable = method === 'GET' } = options;
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.send(method, path, options).catch((error: unknown) => error as Error);
      options.signal?.throwIfAborted();
      const passing = response instanceof Error || PASSING.has(response.statusCode);
      if (!passing || !repeatable || attempt === ATTEMPTS) {
        if (response instanceof Error) throw unreachable(this.credentials.url, response);
        return response;
      }
      const asked = response instanceof Error ? undefined : retryAfterOf(response.resume());
      const seconds = asked ?? 2 ** (attempt - 1) / 4;
      await sleep(Math.min(seconds, MAX_PAUSE_S) * 1000);
    }
  }

  private send(method: string, path: string, options: CallOptions): Promise<HttpAnswer> {
    const { body, json, raw, headers, limitMs = CALL_MS, signal } = options;
    const { token } = this.credentials;
    const content = raw ?? json ?? (body === undefined ? undefined : JSON.stringify(body));
    return exchange({
      method,
      server: this.server,
      path,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(content === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: content,
      limitMs,
      signal,
    });
  }

  /**
   * Renews the credential. A refresh token can be used only once, and using the token twice ends the login. Only one of several processes renews the
   * credential, and the other processes use the result.
   */
  private async renewed(): Promise<boolean> {
    if (this.isWorkload) return this.exchangedAgain();
    const { refreshToken, clientId } = this.credentials;
    if (refreshToken === undefined || clientId === undefined) return false;
    return alone(this.environment.credentialsFile, async () => {
      const { url, token } = this.credentials;
      const kept = await readStoredCredentials(this.environment.credentialsFile);
      if (kept?.url !== url || kept.token === token) return this.exchanged(url, refreshToken, clientId);
      this.credentials = kept;
      return true;
    });
  }

  /**
   * Requests a new identity token and exchanges it for an access token. Only GitHub Actions runs can request a new identity token. Other builds have a single
   * token, which has already been used.
   */
  private async exchangedAgain(): Promise<boolean> {
    if (this.environment.variables['ACTIONS_ID_TOKEN_REQUEST_URL'] === undefined) return false;
    const token = await workloadToken(this.credentials.url, this.environment.variables);
    if (token !== undefined) this.credentials = { ...this.credentials, token };
    return token !== undefined;
  }

  /** Exchanges the refresh token, and stores the new access token and refresh token. */
  private async exchanged(url: string, refreshToken: string, clientId: string): Promise<boolean> {
    const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId });
    const signal = AbortSignal.timeout(RENEWAL_MS);
    const response = await fetch(`${url}/oauth/token`, { method: 'POST', body, redirect: 'error', signal });
    if (!response.ok) return false;
    const answer = (await response.json()) as { access_token: string; refresh_token?: string };
    const renewed = {
      url,
      clientId,
      token: answer.access_token,
      refreshToken: answer.refresh_token ?? refreshToken,
    };
    this.credentials = renewed;
    await writeCredentials(this.environment.credentialsFile, renewed);
    return true;
  }
}

/** Returns a hint for a GitHub Actions job that has no identity token. Without the permission, the job has no URL from which to request a token. */
function inGitHub({ variables }: ClientEnvironment): string {
  return variables['SEALWRIGHT_RUN']?.startsWith('github-') === true
    ? ' The job has no identity token. Add "permissions: id-token: write" to it.'
    : '';
}

function addressOf({ allowsHttp }: ClientEnvironment, address: string | undefined): string {
  if (address !== undefined) return serviceAddress(address, allowsHttp);
  throw new ClientError(EXIT.usage, 'The address of the service is not set. Use --url, set SEALWRIGHT_URL, or log in.');
}

const EXIT_OF: Record<number, ExitCode> = { 401: EXIT.authentication, 403: EXIT.denied };

function errorOf(answer: HttpAnswer, content: string): ClientError {
  const { statusCode: status, statusMessage = '' } = answer;
  const { code = `HTTP ${status}`, detail = statusMessage, scope } = problemOf(content);
  const missing = scope === undefined ? '' : ` (missing scope: ${scope})`;
  return new ClientError(EXIT_OF[status] ?? EXIT.failed, `${detail} [${code}]${missing}`, status, retryAfterOf(answer), code); // prettier-ignore
}

/** Parses a problem response. Proxies in front of the service respond in other formats. */
function problemOf(content: string): Problem {
  try {
    return (JSON.parse(content) ?? {}) as Problem;
  } catch {
    return {};
  }
}

function unreachable(url: string, error: Error): ClientError {
  const { message, name } = error.cause instanceof Error ? error.cause : error;
  // An error that covers several failed addresses has no message.
  const reason = message === '' ? ((error as NodeJS.ErrnoException).code ?? name) : message;
  return new ClientError(EXIT.failed, `${url} does not respond: ${reason}`);
}
