import { existsSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { openSslModules, pkcs11Module } from '../exec/tool-environment.js';
import { javaSecurityProperties } from '../exec/java-configuration.js';
import { isInstalled } from './tool-needs.js';
import { ClientError } from '../../api/exit-codes.js';
import { isWrapper, realProgram } from '../../gpg/real-gpg.js';
import type { KnownTool, ToolAccess } from './known-tools.js';

/** ToolFinding is one requirement of a tool, and whether this machine meets the requirement. */
export interface ToolFinding {
  readonly ok: boolean;
  /** The installed component, or the missing component and how to install it. */
  readonly detail: string;
}

/** Checks whether this machine meets a tool's requirements, except for a key. */
export function examineTool(tool: KnownTool, environment: NodeJS.ProcessEnv): ToolFinding[] {
  const programs = tool.programs.map((program) =>
    isInstalled(program, environment)
      ? good(`${program} is installed`)
      : bad(`${program} is not in PATH: ${tool.toInstall}.`),
  );
  return [...programs, ...ACCESS[tool.access](environment)];
}

const good = (detail: string): ToolFinding => ({ ok: true, detail });
const bad = (detail: string): ToolFinding => ({ ok: false, detail });

const ACCESS: Readonly<Record<ToolAccess, (environment: NodeJS.ProcessEnv) => ToolFinding[]>> = {
  files: () => [],
  pkcs11: () => [moduleHere()],
  engine: () => [moduleHere(), engineHere(false)],
  'engine or provider': () => [moduleHere(), engineHere(true)],
  java: (environment) => [moduleHere(), javaHere(environment)],
  gpg: (environment) => [realGpgHere(environment), ...['gpg', 'gpgconf'].map((name) => wrapperHere(name, environment))],
  'ssh-agent': ({ SSH_AUTH_SOCK: socket }) => [
    socket !== undefined && existsSync(socket)
      ? good(`an agent is listening on ${socket}`)
      : bad('SSH_AUTH_SOCK does not point to an agent. Run: sealwright agent --protocol ssh-agent'),
  ],
};

function moduleHere(): ToolFinding {
  try {
    return good(`p11-kit client module: ${pkcs11Module()}`);
  } catch (error) {
    if (error instanceof ClientError) return bad(error.message);
    throw error;
  }
}

function engineHere(takesProvider: boolean): ToolFinding {
  const { engine, provider } = openSslModules();
  if (engine !== undefined) return good(`OpenSSL PKCS #11 engine: ${engine}`);
  if (takesProvider && provider !== undefined) return good(`OpenSSL PKCS #11 provider: ${provider}`);
  const also = takesProvider ? ', or pkcs11-provider on Debian 13' : '';
  return bad(`The OpenSSL PKCS #11 engine is missing: apt install libengine-pkcs11-openssl${also}.`);
}

function javaHere(environment: NodeJS.ProcessEnv): ToolFinding {
  if (javaSecurityProperties(environment, 'java.cfg') !== undefined) return good('a Java runtime with SunPKCS11');
  return bad(
    'No Java runtime with the SunPKCS11 provider was found: apt install default-jdk-headless, or set JAVA_HOME.',
  );
}

function realGpgHere(environment: NodeJS.ProcessEnv): ToolFinding {
  try {
    return good(`real gpg: ${realProgram('gpg', environment)}`);
  } catch (error) {
    if (error instanceof ClientError) return bad('gpg is missing: apt install gnupg.');
    throw error;
  }
}

/** Checks that the first program with this name on the PATH is the wrapper. Otherwise, the tool would sign with local keys. */
function wrapperHere(name: string, { PATH: path = '' }: NodeJS.ProcessEnv): ToolFinding {
  const first = path.split(delimiter).map((directory) => join(directory, name)).find((file) => existsSync(file)); // prettier-ignore
  if (first !== undefined && isWrapper(realpathSync(first))) return good(`${first} signs with keys of the service`);
  return bad(
    `The first ${name} in PATH is ${first ?? 'none'}. Run "sealwright wrappers DIRECTORY", and put DIRECTORY first in PATH.`,
  );
}
