import { homedir, tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { isLoopback } from '../../formats/addresses/address.js';
import { EXIT, ClientError } from './exit-codes.js';
import { trimEndOf } from '../../formats/encoding/trim-end.js';

/** Set to `yes`: credentials go over plain HTTP as well, for a network where nobody else listens. */
const ALLOW_HTTP = 'SEALWRIGHT_ALLOW_HTTP';

/**
 * An address of the service, without the slash at its end.
 *
 * @throws ClientError when it is no http(s) address, or plain HTTP to another machine: everybody on the way would read the credential.
 */
export function serviceAddress(text: string, allowsHttp: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new ClientError(EXIT.usage, `"${text}" is not an http(s) address of the service.`);
  if (url.username !== '' || url.password !== '')
    throw new ClientError(EXIT.usage, 'The address holds a name or a password: leave them out, and log in.');
  if (url.protocol === 'http:' && !isLoopback(url.hostname) && !allowsHttp)
    throw new ClientError(
      EXIT.usage,
      `${url.origin} is plain HTTP to another machine: your credential could be read in transit. Use https://, or set ${ALLOW_HTTP}=yes if nobody else can listen.`,
    );
  return trimEndOf(text.trim(), '/');
}

/** Settings from the environment; options on the command line override them. */
export interface ClientEnvironment {
  /** SEALWRIGHT_URL */
  readonly url: string | undefined;
  /** SEALWRIGHT_TOKEN: an API key or an access token. */
  readonly token: string | undefined;
  /** SEALWRIGHT_RUN: a name that a repetition of a pipeline has again. Requests are named after it, so that the repetition finds them. */
  readonly run: string | undefined;
  /** SEALWRIGHT_ALLOW_HTTP=yes */
  readonly allowsHttp: boolean;
  /** File in which `login` keeps its credentials. */
  readonly credentialsFile: string;
  /** Directory in which the sensor keeps findings until they are delivered. */
  readonly spoolDirectory: string;
  /** Directory of this user for sockets, empty after a restart: XDG_RUNTIME_DIR, else that for temporary files. */
  readonly runtimeDirectory: string;
  /** All variables, for programs that are started. */
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

/** Files and shells of Windows add a byte order mark, carriage returns or line breaks, which no header may have. */
function trimmed(text: string): string {
  return text.replace(/^\uFEFF/, '').trim();
}

/** The home of this user. Containers run under users that no file names and that have no HOME: they have nothing stored. */
function ownDirectory(): string {
  try {
    return homedir();
  } catch {
    return '/nonexistent';
  }
}

/** The XDG Base Directory Specification has a variable that is empty or no absolute path count as not set. */
function runtimeDirectory(given = ''): string {
  return isAbsolute(given) ? given : resolve(tmpdir());
}
