import { existsSync, readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientError, EXIT } from '../../api/exit-codes.js';
import { javaSecurityProperties, sunPkcs11Configuration } from './java-configuration.js';

/** Environment variables and placeholder values through which a tool finds the keys. */
interface ToolEnvironment {
  readonly variables: NodeJS.ProcessEnv;
  /** Values of the placeholders in tool arguments: paths that are known only when the tool starts. */
  readonly words: Readonly<Record<string, string>>;
}

/** Credentials of this client. The tool does not need these credentials, so the credentials are removed from the tool's environment. */
const OWN = ['SEALWRIGHT_TOKEN', 'SEALWRIGHT_ID_TOKEN', 'SEALWRIGHT_ID_TOKEN_FILE', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN'];
const OPENSSL_CONFIGURATIONS = ['/etc/ssl/openssl.cnf', '/etc/pki/tls/openssl.cnf', '/usr/lib/ssl/openssl.cnf'];

/**
 * Returns an environment in which a tool finds the keys behind `socket`: the server address for the p11-kit module, an OpenSSL configuration if an OpenSSL
 * engine or provider for PKCS #11 is installed, and a Java configuration. The files are written next to the socket and removed with the socket.
 */
export async function toolEnvironment(
  inherited: NodeJS.ProcessEnv,
  { path, place }: { readonly path: string; readonly place: string },
): Promise<ToolEnvironment> {
  const module = pkcs11Module();
  const java = join(place, 'java.cfg');
  const security = join(place, 'java.security');
  await writeFile(java, sunPkcs11Configuration(module), { mode: 0o600 });
  await writeFile(security, javaSecurityProperties(inherited, java) ?? '', { mode: 0o600 });
  const variables: NodeJS.ProcessEnv = { ...inherited, P11_KIT_SERVER_ADDRESS: p11KitAddress(path) };
  for (const name of OWN) delete variables[name];
  const openSsl = openSslConfiguration(module, inherited['OPENSSL_CONF']);
  if (openSsl !== undefined) {
    variables['OPENSSL_CONF'] = join(place, 'openssl.cnf');
    await writeFile(variables['OPENSSL_CONF'], openSsl, { mode: 0o600 });
  }
  const words = { '{module}': module, '{java}': java, '{java-security}': security };
  variables['SEALWRIGHT_PKCS11_MODULE'] = module;
  variables['SEALWRIGHT_JAVA_CONFIGURATION'] = java;
  variables['SEALWRIGHT_JAVA_SECURITY'] = security;
  return { variables, words };
}

/** Returns the p11-kit server address of a socket, with special characters percent-encoded. */
export function p11KitAddress(path: string): string {
  return `unix:path=${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Returns the arguments with placeholders replaced, including placeholders inside longer arguments. */
export function withWords(args: readonly string[], words: ToolEnvironment['words']): string[] {
  return args.map((arg) =>
    Object.entries(words).reduce((text, [word, value]) => text.replaceAll(word, () => value), arg),
  );
}

/**
 * Returns a configuration that adds PKCS #11 and includes the active configuration, so that sections such as [req] remain in effect. Returns undefined if
 * neither the engine nor the provider is installed, because OpenSSL does not start with a configuration that names a missing module.
 */
function openSslConfiguration(module: string, given: string | undefined): string | undefined {
  const { engine, provider } = openSslModules();
  if (engine === undefined && provider === undefined) return undefined;
  const before = [given, ...OPENSSL_CONFIGURATIONS].find((file) => file !== undefined && existsSync(file));
  return [
    ...(before === undefined ? [] : [`.include = ${before}`]),
    '[default]',
    'openssl_conf = sealwright',
    '[sealwright]',
    ...(engine === undefined ? [] : ['engines = sealwright_engines']),
    ...(provider === undefined ? [] : ['providers = sealwright_providers']),
    ...(engine === undefined
      ? []
      : [
          '[sealwright_engines]',
          'pkcs11 = sealwright_engine',
          '[sealwright_engine]',
          'engine_id = pkcs11',
          `MODULE_PATH = ${module}`,
          'init = 0',
        ]),
    ...(provider === undefined
      ? []
      : [
          '[sealwright_providers]',
          'default = sealwright_default',
          'pkcs11 = sealwright_provider',
          '[sealwright_default]',
          'activate = 1',
          '[sealwright_provider]',
          `module = ${provider}`,
          `pkcs11-module-path = ${module}`,
          'activate = 1',
        ]),
    '',
  ].join('\n');
}

const USR_LIB = '/usr/lib';
/** Library directories of Fedora, and of Homebrew on both Mac architectures. Debian and Ubuntu have one directory per architecture in /usr/lib. */
const OTHER_PLACES = ['/usr/lib64', USR_LIB, '/opt/homebrew/lib', '/usr/local/lib'];

/**
 * Returns the path of the p11-kit client, which is the PKCS #11 module that tools load.
 *
 * @throws ClientError with the packages to install if the module is missing
 */
export function pkcs11Module(): string {
  const found = inLibraries('pkcs11/p11-kit-client.so');
  if (found !== undefined) return found;
  throw new ClientError(
    EXIT.failed,
    'The p11-kit client module is missing: install p11-kit-modules (Debian, Ubuntu), p11-kit-server (Fedora) or p11-kit (Homebrew).',
  );
}

interface OpenSslModules {
  /** Path of the libp11 engine for OpenSSL 3. */
  readonly engine: string | undefined;
  /** Path of the PKCS #11 provider for OpenSSL 3. */
  readonly provider: string | undefined;
}

export function openSslModules(): OpenSslModules {
  return { engine: inLibraries('engines-3/pkcs11.so'), provider: inLibraries('ossl-modules/pkcs11.so') };
}

function inLibraries(file: string): string | undefined {
  const folders = existsSync(USR_LIB) ? readdirSync(USR_LIB).filter((name) => name.includes('-linux-gnu')) : [];
  const places = [...folders.map((folder) => join(USR_LIB, folder)), ...OTHER_PLACES];
  return places.map((place) => join(place, file)).find((path) => existsSync(path));
}
