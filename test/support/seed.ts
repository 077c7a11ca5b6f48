// Loaded before every test file: property tests take their seed from ZEST_SEED, when it is set.
import fc from 'fast-check';

const seed = Number(process.env['ZEST_SEED']);
if (Number.isInteger(seed) && seed > 0) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed });
