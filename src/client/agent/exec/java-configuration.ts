import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Returns a configuration for the SunPKCS11 provider (Java PKCS #11 Reference Guide). */
export function sunPkcs11Configuration(module: string): string {
  return `name = Sealwright\nlibrary = ${module}\nslotListIndex = 0\n`;
}

/**
 * Returns security properties that pass `configuration` to the SunPKCS11 provider of the installed Java, for programs without a provider argument, such as
 * apksigner. `-Djava.security.properties` adds these properties to the properties of the installation. Returns undefined if Java or the provider is not
 * installed.
 */
export function javaSecurityProperties(environment: NodeJS.ProcessEnv, configuration: string): string | undefined {
  const home = javaHome(environment);
  const places = ['conf/security/java.security', 'lib/security/java.security', 'jre/lib/security/java.security'];
  const file = places.map((place) => join(home ?? '/', place)).find((path) => home !== undefined && existsSync(path));
  if (file === undefined) return undefined;
  const place = /^security\.provider\.\d+(?==SunPKCS11)/m.exec(readFileSync(file, 'latin1'))?.[0];
  return place === undefined ? undefined : `${place}=SunPKCS11 ${inProperties(configuration)}\n`;
}

/** Escapes a value for a properties file, which Java reads as ISO 8859-1 (java.util.Properties). */
function inProperties(value: string): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return value.replaceAll('\\', '\\\\').replaceAll(/[^ -~]/g, escaped);
}

/** Returns JAVA_HOME, or the installation directory of the `java` on the PATH. */
function javaHome({ JAVA_HOME: home, PATH: path = '' }: NodeJS.ProcessEnv): string | undefined {
  if (home !== undefined && home !== '') return home;
  const java = path.split(delimiter).map((directory) => join(directory, 'java')).find((file) => existsSync(file)); // prettier-ignore
  return java === undefined ? undefined : dirname(dirname(realpathSync(java)));
}
