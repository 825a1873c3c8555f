import { ApiClient } from './api/api-client.js';
import type { ClientEnvironment } from './api/transport.js';
import { gpg } from './gpg/gpg-program.js';
import { gpgconf } from './gpg/gpgconf-program.js';
import { notationPlugin } from './notation/notation-plugin.js';

/** Answers the exit code. */
type Program = (args: readonly string[], environment: ClientEnvironment) => Promise<number>;

const apiOf = (environment: ClientEnvironment) => () => ApiClient.open(environment, undefined);

/** Stand-ins for programs of others, by the word that comes first: they read their arguments as those do. The wrappers call them. */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  gpg: (args, environment) => gpg(args, { variables: environment.variables, api: apiOf(environment) }),
  gpgconf: (args, environment) => gpgconf(args, environment.variables),
  notation: (args, environment) => notationPlugin(args, apiOf(environment)),
};
