import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isLoopback } from '../../formats/encoding/ip-address.js';
import { EXIT, ClientError } from './exit-codes.js';
import { trimEndOf } from '../../platform/text/trim-end.js';

/** Environment variable that, if set to `yes`, allows credentials over plain HTTP, for use on a trusted network. */
const ALLOW_HTTP = 'SEALWRIGHT_ALLOW_HTTP';

/**
 * Returns the URL of the service without a trailing slash.
 *
 * @throws ClientError if the text is not an http(s) URL, or is a plain HTTP URL of a remote host, which would expose the credential
 */
export function serviceAddress(text: string, allowsHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new ClientError(EXIT.usage, `"${text}" is not an http(s) URL.`);
  if (url.username !== '' || url.password !== '')
    throw new ClientError(EXIT.usage, 'The URL contains a user name or password. Remove it, and log in instead.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowsHttp)
    throw new ClientError(
      EXIT.usage,
      `${url.origin} uses plain HTTP to another machine, so your credential could be read in transit. Use https://, or set ${ALLOW_HTTP}=yes if the connection is private.`,
    );
  return trimEndOf(text.trim(), '/');
}

/** ClientEnvironment contains settings from the environment. Options on the command line override these settings. */
export interface ClientEnvironment {
  /** SEALWRIGHT_URL: URL of the service. */
  readonly url: string | undefined;
  /** SEALWRIGHT_TOKEN: an API key or an access token. */
  readonly token: string | undefined;
  /**
   * SEALWRIGHT_RUN: name of a pipeline run that stays the same when the run is repeated. Idempotency keys are derived from the name, so that a repeated run
   * finds its requests.
   */
  readonly run: string | undefined;
  /** SEALWRIGHT_ALLOW_HTTP: whether plain HTTP is allowed. */
  readonly allowsHttp: boolean;
  /** File in which `login` stores its credentials. */
  readonly credentialsFile: string;
  /** Directory in which the sensor stores findings until they are delivered. */
  readonly spoolDirectory: string;
  /** Directory for the sockets of this user, which is emptied on restart: XDG_RUNTIME_DIR, otherwise the temporary directory. */
  readonly runtimeDirectory: string;
  /** All environment variables, for child processes. */
  readonly variables: NodeJS.ProcessEnv;
}

export function readEnvironment(): ClientEnvironment {
  const { SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: token, XDG_CONFIG_HOME: home, XDG_STATE_HOME: state } = process.env;
  const allowsHttp = process.env[ALLOW_HTTP] === 'yes';
  const directory = home === undefined || home === '' ? join(ownDirectory(), '.config') : home;
  const states = state === undefined || state === '' ? join(ownDirectory(), '.local', 'state') : state;
  return {
    url: url === undefined ? undefined : trimmed(url),
    token: token === undefined ? undefined : trimmed(token),
    run: process.env['SEALWRIGHT_RUN'] || undefined,
    allowsHttp,
    credentialsFile: join(directory, 'sealwright', 'credentials.json'),
    spoolDirectory: join(states, 'sealwright', 'sensor'),
    runtimeDirectory: runtimeDirectory(process.env['XDG_RUNTIME_DIR']),
    variables: { ...process.env },
  };
}

/** Removes a byte order mark, carriage returns and line feeds, which files and shells on Windows may add and which headers must not contain. */
function trimmed(text: string): string {
  return text.replace(/^\uFEFF/, '').trim();
}

/** Returns the user's home directory. Containers can run as users without a passwd entry or HOME, who then have no stored credentials. */
function ownDirectory(): string {
  try {
    return homedir();
  } catch {
    return '/nonexistent';
  }
}

/** Returns the directory for sockets. The XDG Base Directory Specification treats an empty or relative path as unset. */
function runtimeDirectory(given = ''): string {
  return isAbsolute(given) ? given : resolve(tmpdir());
}
