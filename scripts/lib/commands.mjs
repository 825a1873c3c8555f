import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Directories of system administration commands, which are not on the PATH of ordinary accounts. */
const MORE = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/usr/local/bin'];

/** commandPath returns the path of a command, or undefined if it is not installed. */
export function commandPath(name) {
  const directories = [...(process.env.PATH ?? '').split(path.delimiter), ...MORE];
  return directories
    .filter((directory) => directory !== '')
    .map((directory) => path.join(directory, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** softhsmLibrary returns the path of the SoftHSM module, or undefined if it is not installed. */
export function softhsmLibrary() {
  const multiarch = existsSync('/usr/lib') ? readdirSync('/usr/lib').filter((name) => /-linux-gnu/.test(name)) : [];
  return [
    '/usr/lib/softhsm/libsofthsm2.so',
    ...multiarch.flatMap((name) => [
      `/usr/lib/${name}/softhsm/libsofthsm2.so`,
      `/usr/lib/${name}/pkcs11/libsofthsm2.so`,
    ]),
    '/usr/lib64/pkcs11/libsofthsm2.so',
    '/usr/lib64/softhsm/libsofthsm2.so',
    '/usr/lib/pkcs11/libsofthsm2.so',
    '/usr/local/lib/softhsm/libsofthsm2.so',
    '/opt/homebrew/lib/softhsm/libsofthsm2.so',
  ].find((file) => existsSync(file));
}

/**
 * chromium returns the path of Chromium, or undefined if it is not installed. The headless shell is preferred, because the full browser uses a third more CPU
 * time for the same pages.
 */
export function chromium() {
  return ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(commandPath).find(Boolean);
}
