import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of the product, from the package.json above `src` and `dist`. */
export const PRODUCT_VERSION = (
  JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8')) as { version: string }
).version;
