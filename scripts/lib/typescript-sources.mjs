import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Loaded with --import. Node strips the types of a .ts file but looks for the .js named by its imports; this hook resolves them to .ts
 * if there is no .js.
 */
registerHooks({
  resolve(specifier, context, next) {
    const relative = specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts');
    if (!relative || existsSync(fileURLToPath(new URL(specifier, context.parentURL)))) return next(specifier, context);
    return next(`${specifier.slice(0, -3)}.ts`, context);
  },
});
