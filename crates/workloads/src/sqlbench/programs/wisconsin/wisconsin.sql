-- select-100
select * from tenk1 where unique2 > 301 and unique2 < 402
-- select-1000
select * from tenk1 where unique1 > 647 and unique1 < 1648
-- select-1
select * from tenk1 where unique2 = 2001
-- join-with-itself
select t1.*, t2.unique1 as t2_unique1, t2.unique2 as t2_unique2, t2.two as t2_two, t2.four as t2_four,
  t2.ten as t2_ten, t2.twenty as t2_twenty, t2.hundred as t2_hundred, t2.thousand as t2_thousand,
  t2.twothousand as t2_twothousand, t2.fivethous as t2_fivethous, t2.tenthous as t2_tenthous, t2.odd as t2_odd,
  t2.even as t2_even, t2.stringu1 as t2_stringu1, t2.stringu2 as t2_stringu2, t2.string4 as t2_string4
from tenk1 t1, tenk1 t2
where t1.unique2 = t2.unique2 and t2.unique2 < 1000
-- join-with-bprime
select t.*, b.unique1 as b_unique1, b.unique2 as b_unique2, b.two as b_two, b.four as b_four, b.ten as b_ten,
  b.twenty as b_twenty, b.hundred as b_hundred, b.thousand as b_thousand, b.twothousand as b_twothousand,
  b.fivethous as b_fivethous, b.tenthous as b_tenthous, b.odd as b_odd, b.even as b_even,
  b.stringu1 as b_stringu1, b.stringu2 as b_stringu2, b.string4 as b_string4
from tenk1 t, Bprime b
where t.unique2 = b.unique2
-- join-of-three
select t1.*, o.unique1 as o_unique1, o.unique2 as o_unique2, o.two as o_two, o.four as o_four, o.ten as o_ten,
  o.twenty as o_twenty, o.hundred as o_hundred, o.thousand as o_thousand, o.twothousand as o_twothousand,
  o.fivethous as o_fivethous, o.tenthous as o_tenthous, o.odd as o_odd, o.even as o_even,
  o.stringu1 as o_stringu1, o.stringu2 as o_stringu2, o.string4 as o_string4
from onek o, tenk1 t1, tenk1 t2
where o.unique2 = t1.unique2 and t1.unique2 = t2.unique2 and t1.unique2 < 1000 and t2.unique2 < 1000
-- six-columns
select two, four, ten, twenty, hundred, string4 from tenk1
-- whole-table
select * from onek
-- minimum
select min(unique2) from tenk1
-- changes
insert into tenk1 values (10001, 74001, {rest})
insert into tenk1 values (19991, 60001, {rest})
delete from tenk1 where unique2 = 877
delete from tenk1 where unique2 = 876
update tenk1 set unique2 = 10001 where unique2 = 1491
update tenk1 set unique2 = 10023 where unique2 = 1480
insert into tenk1 values (20002, 70002, {rest})
insert into tenk1 values (50002, 40002, {rest})
delete from tenk1 where unique2 = 10001
delete from tenk1 where unique2 = 900
update tenk1 set unique2 = 10088 where unique2 = 187
update tenk1 set unique2 = 10003 where unique2 = 2000
update tenk1 set unique2 = 10020 where unique2 = 1974
update tenk1 set unique2 = 16001 where unique2 = 1140
-- rest
0, 2, 0, 10, 50, 688, 1950, 4950, 9950, 1, 100, 'first added', 'second added', 'third of these'
