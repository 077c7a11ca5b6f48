// The codec and the table of malformed attributes.
import { check } from './hostile.ts';
import { ATTRIBUTE_ROWS } from './hostile-attribute-rows.ts';

check(ATTRIBUTE_ROWS);
