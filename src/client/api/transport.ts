import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isLoopback } from '../../formats/encoding/address.js';
import { EXIT, ClientError } from './exit-codes.js';
import { trimEndOf } from '../../platform/text/trim-end.js';

/** Setting this variable to `yes` allows credentials over plain HTTP, for a network without eavesdroppers. */
const ALLOW_HTTP = 'SEALWRIGHT_ALLOW_HTTP';

/**
 * Returns the URL of the service without a trailing slash.
 *
 * @throws ClientError if it is not an http(s) URL, or uses plain HTTP to a remote host, which would expose the credential
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

/** ClientEnvironment contains settings from the environment. Options on the command line override them. */
export interface ClientEnvironment {
  /** SEALWRIGHT_URL: URL of the service. */
  readonly url: string | undefined;
  /** SEALWRIGHT_TOKEN: an API key or an access token. */
  readonly token: string | undefined;
  /** SEALWRIGHT_RUN: a name that stays the same when a pipeline is repeated. Requests are named after it, so that a repeated run finds them. */
  readonly run: string | undefined;
  /** SEALWRIGHT_ALLOW_HTTP=yes: whether plain HTTP is allowed. */
  readonly allowsHttp: boolean;
  /** File in which `login` stores its credentials. */
  readonly credentialsFile: string;
  /** Directory in which the sensor stores findings until they are delivered. */
  readonly spoolDirectory: string;
  /** Directory of this user for sockets, emptied on restart: XDG_RUNTIME_DIR, otherwise the temporary directory. */
  readonly runtimeDirectory: string;
  /** All variables, for child processes. */
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

/** Windows files and shells add byte order marks, carriage returns and line breaks, which are not allowed in a header. */
function trimmed(text: string): string {
  return text.replace(/^\uFEFF/, '').trim();
}

/** Returns the user's home directory. Containers can run as users without a passwd entry or HOME; such users have no stored credentials. */
function ownDirectory(): string {
  try {
    return homedir();
  } catch {
    return '/nonexistent';
  }
}

/** The XDG Base Directory Specification treats an empty or relative path as unset. */
function runtimeDirectory(given = ''): string {
  return isAbsolute(given) ? given : resolve(tmpdir());
}
