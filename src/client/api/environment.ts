import { homedir } from 'node:os';
import { join } from 'node:path';
import { ALLOW_HTTP } from './transport.js';

/** What the program takes from its environment; each option on the command line comes first. */
export interface ClientEnvironment {
  /** SEALWRIGHT_URL */
  readonly url: string | undefined;
  /** SEALWRIGHT_TOKEN: an API key or an access token. */
  readonly token: string | undefined;
  /** SEALWRIGHT_ALLOW_HTTP=yes */
  readonly allowsHttp: boolean;
  /** Where `login` keeps what it got. */
  readonly credentialsFile: string;
  /** Where the sensor keeps what it has not delivered yet. */
  readonly spoolDirectory: string;
}

export function readEnvironment(): ClientEnvironment {
  const { SEALWRIGHT_URL: url, SEALWRIGHT_TOKEN: token, XDG_CONFIG_HOME: home, XDG_STATE_HOME: state } = process.env;
  const allowsHttp = process.env[ALLOW_HTTP] === 'yes';
  const directory = home === undefined || home === '' ? join(homedir(), '.config') : home;
  const states = state === undefined || state === '' ? join(homedir(), '.local', 'state') : state;
  return {
    url,
    token,
    allowsHttp,
    credentialsFile: join(directory, 'sealwright', 'credentials.json'),
    spoolDirectory: join(states, 'sealwright', 'sensor'),
  };
}
