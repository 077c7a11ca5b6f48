import { gobgp } from './daemons/gobgp.ts';
import { neighbourTests } from './neighbour.ts';

neighbourTests(gobgp);
