import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** System administrators' commands live where the PATH of ordinary accounts does not look. */
const MORE = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/usr/local/bin'];

/** The path of a command, or undefined when it is not there. */
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

/** The SoftHSM module, or undefined when it is not there. */
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

/** Chromium's headless shell before the whole browser, which takes a third more CPU for the same pages. Undefined when there is none. */
export function chromium() {
  return ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(commandPath).find(Boolean);
}
