import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const SERVICE = process.env.SEALWRIGHT_URL ?? 'http://localhost:9090';
/** Paths that the service handles. All other paths are pages of the console. */
const API = ['/api', '/v1', '/oauth', '/tsa', '/actuator', '/swagger-ui', '/api-docs', '/account', '/.well-known'];

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: 'dist',
    // `assets` is the path of a page.
    assetsDir: 'static',
    // Inlined files would not be cached separately, and the content security policy allows no `data:` fonts.
    assetsInlineLimit: 0,
    target: 'es2023',
    // The charts are in a separate file that is loaded after the first paint.
    chunkSizeWarningLimit: 700,
  },
  worker: { format: 'es' },
  server: {
    port: 4200,
    strictPort: true,
    proxy: Object.fromEntries(API.map((path) => [path, { target: SERVICE, changeOrigin: true }])),
  },
});
