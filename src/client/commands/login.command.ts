import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientCommand, type Invocation, text } from '../api/command.js';
import { writeCredentials } from '../api/credentials.js';
import { ClientError, EXIT, type ExitCode, usageError } from '../api/exit-codes.js';
import { serviceAddress } from '../api/transport.js';

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

interface DeviceCodes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

export const login: ClientCommand = {
  name: 'login',
  usage: '--client ID [--scope "sign:digest sign:read"] | --api-key',
  meaning: 'stores a credential for this user: through a browser (RFC 8628), or an API key read from standard input',
  options: {
    client: { type: 'string' },
    scope: { type: 'string' },
    'api-key': { type: 'boolean' },
  },
  forms: {
    browser: { uses: ['client', 'scope'], when: 'when logging in through a browser', maxArguments: 0 },
    key: { uses: ['api-key'], when: 'when storing an API key', maxArguments: 0 },
  },
  formOf: (options) => (options['api-key'] === true ? 'key' : 'browser'),
  async run(invocation) {
    const { options, environment } = invocation;
    const address = invocation.url ?? environment.url;
    if (address === undefined)
      throw usageError('The address of the service is not set. Use --url, or set SEALWRIGHT_URL.');
    const url = serviceAddress(address, environment.allowsHttp);
    if (options['api-key'] === true) return withApiKey(invocation, url);
    const clientId = text(options, 'client');
    if (clientId === undefined) throw usageError('login requires --client ID or --api-key.');
    return byBrowser(invocation, url, clientId);
  },
};

/** Reads an API key from standard input, because arguments are visible to other users. The key is stored only if the service accepts it. */
async function withApiKey({ environment, note, print }: Invocation, url: string): Promise<ExitCode> {
  if (process.stdin.isTTY) note('API key:');
  const parts: Buffer[] = [];
  for await (const part of process.stdin) {
    parts.push(part as Buffer);
    if (process.stdin.isTTY) break;
  }
  const token = Buffer.concat(parts).toString().trim();
  const response = await fetch(`${url}/api/auth/me`, {
    headers: { authorization: `Bearer ${token}` },
    redirect: 'error',
  });
  if (response.status === 401)
    throw new ClientError(EXIT.authentication, 'The service does not recognize this API key.');
  if (!response.ok)
    throw new ClientError(
      EXIT.failed,
      `The service responded with HTTP status ${response.status}. The key was not stored.`,
    );
  await writeCredentials(environment.credentialsFile, { url, token });
  print({ url, credentials: environment.credentialsFile }, [`Logged in to ${url}`]);
  return EXIT.done;
}

async function byBrowser(
  { options, environment, note, print }: Invocation,
  url: string,
  clientId: string,
): Promise<ExitCode> {
  const scope = text(options, 'scope');
  const codes = await form<DeviceCodes>(`${url}/oauth/device_authorization`, {
    client_id: clientId,
    ...(scope === undefined ? {} : { scope }),
  });
  note(`Open ${codes.verification_uri} and enter ${codes.user_code}, or open ${codes.verification_uri_complete}`);
  const grant = { grant_type: DEVICE_CODE, device_code: codes.device_code, client_id: clientId };
  let pause = codes.interval;
  for (const until = performance.now() + codes.expires_in * 1000; performance.now() < until;) {
    await sleep(pause * 1000);
    try {
      const answer = await form<{ access_token: string; refresh_token?: string }>(`${url}/oauth/token`, grant);
      const { access_token: token, refresh_token: refreshToken } = answer;
      await writeCredentials(environment.credentialsFile, { url, token, refreshToken, clientId });
      print({ url, credentials: environment.credentialsFile }, [`Logged in to ${url}`]);
      return EXIT.done;
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error;
      if (error.code === 'slow_down') pause += 5;
      else if (error.code !== 'authorization_pending') throw error;
    }
  }
  throw new ClientError(EXIT.authentication, 'The login was not approved in time. Log in again.');
}

/** Error response of an OAuth endpoint (RFC 6749 section 5.2). */
class OAuthRefusal extends ClientError {
  constructor(
    readonly code: string,
    description: string,
  ) {
    super(EXIT.authentication, `${description} [${code}]`);
  }
}

async function form<Answer>(address: string, parameters: Record<string, string>): Promise<Answer> {
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams(parameters), redirect: 'error' });
  const answer = (await response.json()) as Answer & { error?: string; error_description?: string };
  if (!response.ok) throw new OAuthRefusal(answer.error ?? `HTTP ${response.status}`, answer.error_description ?? '');
  return answer;
}
