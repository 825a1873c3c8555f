import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { AppModule } from '../app.module.js';
import { Config } from '../platform/config/config.js';
import { httpAdapter } from '../platform/http/configure.js';
import { ApiDocument } from '../platform/http/api-document.js';

/** Writes the OpenAPI document of this build; needs no store. */
export async function openapi(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { out: { type: 'string', default: 'docs/openapi.json' } } });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, httpAdapter(new Config()), {
    preview: true,
    logger: false,
  });
  const document = new ApiDocument().build(app);
  await writeFile(values.out, `${JSON.stringify(document, null, 2)}\n`);
  process.stdout.write(`wrote ${values.out}\n`);
  process.exit(0);
}
