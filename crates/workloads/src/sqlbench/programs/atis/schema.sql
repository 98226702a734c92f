-- aircraft
aircraft_code char(3)
aircraft_type char(64)
engines tinyint
category char(10)
wide_body char(3)
wing_span float
length1 float
weight int
capacity smallint
pay_load int
cruising_speed mediumint
range_miles mediumint
pressurized char(3)
primary key aircraft_code
-- airline
airline_code char(2)
airline_name char(64)
notes char(38)
primary key airline_code
-- airport
airport_code char(3)
airport_name char(40)
location char(36)
state_code char(2)
country_name char(25)
time_zone_code char(3)
primary key airport_code
-- airport_service
city_code char(4)
airport_code char(3)
miles_distant float
direction char(3)
minutes_distant smallint
primary key city_code,airport_code
-- city
city_code char(4)
city_name char(25)
state_code char(2)
country_name char(25)
time_zone_code char(3)
primary key city_code
-- class_of_service
class_code char(2)
rank tinyint
class_description char(80)
primary key class_code
-- code_description
code char(5)
description char(110)
primary key code
-- compound_class
fare_class char(3)
base_class char(2)
class_type char(10)
premium char(3)
economy char(3)
discounted char(3)
night char(3)
season_fare char(4)
class_days char(7)
primary key fare_class
-- connect_leg
connect_code int
leg_number tinyint
flight_code int
primary key connect_code,leg_number,flight_code
-- fconnection
connect_code int
from_airport char(3)
to_airport char(3)
departure_time smallint
arrival_time smallint
flight_days char(7)
stops tinyint
connections tinyint
time_elapsed smallint
primary key connect_code
index from_airport
index to_airport
-- day_name
day_code tinyint
day_name char(9)
primary key day_code
-- dual_carrier
main_airline char(2)
dual_airline char(2)
low_flight smallint
high_flight smallint
fconnection_name char(64)
primary key main_airline,dual_airline,low_flight
index main_airline
-- fare
fare_code char(8)
from_airport char(3)
to_airport char(3)
fare_class char(3)
fare_airline char(2)
restrict_code char(5)
one_way_cost float
rnd_trip_cost float
primary key fare_code
index from_airport
index to_airport
-- flight
flight_code int
flight_days char(7)
from_airport char(3)
to_airport char(3)
departure_time smallint
arrival_time smallint
airline_code char(2)
flight_number smallint
class_string char(8)
aircraft_code char(3)
meal_code char(7)
stops tinyint
dual_carrier char(1)
time_elapsed smallint
primary key flight_code
index from_airport
index to_airport
-- flight_class
flight_code int
fare_class char(3)
primary key flight_code,fare_class
-- flight_day
day_mask char(7)
day_code tinyint
day_name char(9)
primary key day_mask,day_code
-- flight_fare
flight_code int
fare_code char(8)
primary key flight_code,fare_code
-- food_service
meal_code char(4)
meal_number tinyint
meal_class char(10)
meal_description char(10)
primary key meal_code,meal_number,meal_class
-- ground_service
city_code char(4)
airport_code char(3)
transport_code char(1)
ground_fare float
primary key city_code,airport_code,transport_code
-- time_interval
period char(20)
begin_time smallint
end_time smallint
primary key period,begin_time
-- month_name
month_number tinyint
month_name char(9)
primary key month_number
-- restrict_carrier
restrict_code char(5)
airline_code char(2)
primary key restrict_code,airline_code
-- restrict_class
restrict_code char(5)
ex_fare_class char(12)
primary key restrict_code,ex_fare_class
-- restriction
restrict_code char(5)
application char(80)
no_discounts char(80)
reserve_ticket smallint
stopovers char(1)
return_min smallint
return_max smallint
primary key restrict_code
-- state
state_code char(2)
state_name char(25)
country_name char(25)
primary key state_code
-- stop1
flight_code int
stop_number tinyint
stop_flight int
primary key flight_code,stop_number
-- time_zone
time_zone_code char(3)
time_zone_name char(32)
primary key time_zone_code,time_zone_name
-- transport
transport_code char(1)
transport_desc char(32)
primary key transport_code
