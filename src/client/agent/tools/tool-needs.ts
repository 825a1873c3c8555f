import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { openSslModules } from '../exec/tool-environment.js';
import { authenticodeCheck, type FileTool } from './file-tool.js';

interface Here {
  readonly environment: NodeJS.ProcessEnv;
  /** Whether the result will be checked against authorities. */
  readonly checks: boolean;
}

/** Throws if a program or library that the tool needs to sign a file is missing. The error names the package to install. */
export async function assertToolReady(tool: FileTool, file: string, here: Here): Promise<void> {
  const [missing] = needsOf(tool, here);
  if (missing === undefined) return;
  throw new ClientError(
    EXIT.failed,
    `${file} is signed with ${tool.program}. ${missing} Alternatively, create a detached signature: --format raw.`,
  );
}

/** Returns the missing requirements for signing and checking files with a tool, as sentences that name the packages to install. */
export function needsOf(tool: FileTool, { environment, checks }: Here): string[] {
  const { program, helpers, openSsl, toInstall } = tool;
  const missing = [program, ...helpers].filter((name) => !isInstalled(name, environment));
  if (missing.length > 0) return [`${missing.join(' and ')} is missing: ${toInstall}.`];
  return [engineNeed(program, openSsl), checks ? verifierNeed(tool, environment) : undefined].filter(
    (need): need is string => need !== undefined,
  );
}

/** Returns the missing engine, if any. osslsigncode and sbsign load the key only through the engine. openssl also accepts the provider. */
function engineNeed(program: string, openSsl: FileTool['openSsl']): string | undefined {
  const { engine, provider } = openSslModules();
  if (openSsl === undefined || engine !== undefined) return undefined;
  if (openSsl === 'engine or provider' && provider !== undefined) return undefined;
  const other = provider === undefined ? '' : ', and does not accept keys from pkcs11-provider';
  return `${program} requires the OpenSSL PKCS #11 engine${other}: apt install libengine-pkcs11-openssl.`;
}

/** Returns the missing verifier, if any. Called before an approval is requested, because a signed file that cannot be checked would be discarded. */
function verifierNeed(tool: FileTool, env: NodeJS.ProcessEnv): string | undefined {
  const check = tool.verify({ ...NO_ORDER, authorities: 'root.pem' });
  if (!('needs' in check) || check.needs === undefined) return undefined;
  const { version, toInstall } = check.needs;
  const found = versionOf(check.program, env);
  if (found !== undefined && found.localeCompare(version, 'en', { numeric: true }) >= 0) return undefined;
  return `Verification requires ${check.program} ${version} or later; this machine has ${found ?? 'none'}: ${toInstall}. Without --authorities, the signature is not verified.`;
}

const NO_ORDER: Parameters<typeof authenticodeCheck>[0] = {
  file: '',
  out: '',
  key: '',
  keyType: '',
  chain: '',
  authorities: undefined,
  algorithm: undefined,
  timestamps: undefined,
};

/** Returns the version that a program prints, or undefined if the program cannot be run. */
export function versionOf(program: string, env: NodeJS.ProcessEnv): string | undefined {
  const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8', env });
  return /(?<!\d)\d{1,4}\.\d{1,4}(?:\.\d{1,4})?/.exec(`${stdout ?? ''}${stderr ?? ''}`)?.[0];
}

/** Reports whether a program is on the PATH. */
export function isInstalled(program: string, { PATH: path = '' }: NodeJS.ProcessEnv): boolean {
  return path.split(delimiter).some((directory) => isExecutable(join(directory, program)));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
