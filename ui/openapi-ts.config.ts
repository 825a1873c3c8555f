import { defineConfig } from '@hey-api/openapi-ts';

/** The client is generated from the OpenAPI document on every build, so it is always up to date. */
export default defineConfig({
  input: '../docs/openapi.json',
  output: { path: 'src/api/generated', clean: true },
  logs: { level: 'silent' },
  plugins: [
    { name: '@hey-api/client-fetch', throwOnError: true },
    '@hey-api/typescript',
    { name: '@hey-api/sdk', operations: { strategy: 'flat' } },
    { name: '@tanstack/react-query', queryOptions: true, infiniteQueryOptions: false, mutationOptions: false },
  ],
});
