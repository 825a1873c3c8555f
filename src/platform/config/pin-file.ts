import { Logger } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import { Config, ConfigError } from './config.js';

/** Reads the user PIN of the token from its file. It is kept out of the environment and of process arguments. */
export function readPin(config: Config): string {
  try {
    return readFileSync(config.pkcs11PinFile, 'utf8').trim();
  } catch (cause) {
    new Logger(Config.name).error(`SVC_PKCS11_PIN_FILE cannot be read: ${config.pkcs11PinFile}`);
    throw new ConfigError([`SVC_PKCS11_PIN_FILE cannot be read (${(cause as NodeJS.ErrnoException).code})`]);
  }
}
