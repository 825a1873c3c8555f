import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Returns a validator for the official schema. Validation time is quadratic in the number of components, so the validator is suitable only for small documents.
 */
export function officialCheck(version: '1.6' | '1.7' = '1.6'): ValidateFunction {
  const folder = join(
    dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
    'res/schema',
  );
  const schema = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as object;
  const ajv = new Ajv({ strict: false, validateFormats: true });
  addFormats.default(ajv);
  ajv.addFormat('idn-email', /^[^@]+@[^@]+$/);
  ajv.addFormat('iri-reference', true);
  ajv.addSchema(schema('spdx.SNAPSHOT.schema.json'), 'http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json');
  ajv.addSchema(schema('jsf-0.82.SNAPSHOT.schema.json'), 'http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json');
  const definitions = 'cryptography-defs.SNAPSHOT.schema.json';
  ajv.addSchema(schema(definitions), `http://cyclonedx.org/schema/${definitions}`);
  return ajv.compile(schema(`bom-${version}.SNAPSHOT.schema.json`));
}
