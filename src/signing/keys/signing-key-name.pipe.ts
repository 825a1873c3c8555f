import { Not } from 'typeorm';
import { resolvesNames } from '../../platform/http/id-or-name.js';
import { SigningKey } from './signing-key.entity.js';

/** SigningKeyName resolves the name of a signing key in a path. The name of a key that could not be generated may be used again. */
export const SigningKeyName = resolvesNames('signing-key', SigningKey, { state: Not('FAILED') });
