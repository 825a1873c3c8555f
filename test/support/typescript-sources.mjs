import { registerHooks } from 'node:module';

/**
 * Node.js strips types from a .ts file but looks for the .js files named by its imports; this hook resolves them to .ts. It lets
 * the key process, which is a separate program, run from source in tests.
 */
registerHooks({
  resolve(specifier, context, next) {
    const source = /^\.{1,2}\//.test(specifier) && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts');
    return next(source ? `${specifier.slice(0, -3)}.ts` : specifier, context);
  },
});
