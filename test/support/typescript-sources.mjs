import { registerHooks } from 'node:module';

/**
 * Node strips types from a .ts file but looks for the .js that its imports name; this finds the .ts beside it. It lets
 * the key process, which is a program of its own, run from source as everything else does in tests.
 */
registerHooks({
  resolve(specifier, context, next) {
    const source = /^\.{1,2}\//.test(specifier) && specifier.endsWith('.js') && context.parentURL?.endsWith('.ts');
    return next(source ? `${specifier.slice(0, -3)}.ts` : specifier, context);
  },
});
