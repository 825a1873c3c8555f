import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const SERVICE = process.env.SEALWRIGHT_URL ?? 'http://localhost:9090';
/** What the service answers itself; everything else is a page of the console. */
const API = ['/api', '/v1', '/oauth', '/tsa', '/actuator', '/swagger-ui', '/api-docs', '/account', '/.well-known'];

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    // Not `assets`: that is the page of the cryptographic assets.
    assetsDir: 'static',
    // A font or picture inlined as data: would not be cached apart, and the policy admits no data: fonts.
    assetsInlineLimit: 0,
    target: 'es2023',
    // The charts come in a file of their own after the first paint.
    chunkSizeWarningLimit: 700,
  },
  worker: { format: 'es' },
  server: {
    port: 4200,
    strictPort: true,
    proxy: Object.fromEntries(API.map((path) => [path, { target: SERVICE, changeOrigin: true }])),
  },
});
